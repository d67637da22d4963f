#!/bin/sh
# Installs Debian's Chromium, which the tests of the pages run in, where /usr/bin/chromium is missing.
set -eu
[ -x /usr/bin/chromium ] && exit 0
command -v apt-get >/dev/null || {
  echo 'The tests of the pages need /usr/bin/chromium; without apt-get, install it by hand.' >&2
  exit 1
}
as_root=''
[ "$(id -u)" -eq 0 ] || as_root='sudo -n'
# With this lock, test files that start at the same time install it only once.
exec 9>/tmp/payments-mcp-install-browser.lock
flock 9
[ -x /usr/bin/chromium ] && exit 0
$as_root apt-get update -q
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends chromium
