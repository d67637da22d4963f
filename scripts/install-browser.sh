#!/bin/sh
# Installs Debian's Chromium for the tests that use a browser, unless /usr/bin/chromium exists.
set -eu
[ -x /usr/bin/chromium ] && exit 0
command -v apt-get >/dev/null || {
  echo 'The browser tests need /usr/bin/chromium. There is no apt-get here, so install Chromium by hand.' >&2
  exit 1
}
as_root=''
[ "$(id -u)" -eq 0 ] || as_root='sudo -n'
# Test files may run this script at the same time. With the lock, only one of them installs Chromium.
exec 9>/tmp/payments-mcp-install-browser.lock
flock 9
[ -x /usr/bin/chromium ] && exit 0
$as_root apt-get update -q
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends chromium
