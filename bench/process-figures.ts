import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

export function residentMegabytes(pid: number): number {
  const kilobytes =
    process.platform === 'linux'
      ? /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
      : execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }).trim()
  return Number(kilobytes) / 1024
}

/** What the process has computed so far, all its threads together; exact to 10 ms. */
export function processorMs(pid: number): number {
  if (process.platform !== 'linux') return processorMsByPs(pid)
  // Behind the command in parentheses, which may hold spaces: fields 14 and 15 of proc(5), in ticks of 10 ms.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

/** By the form `minutes:seconds.hundredths`, which may have hours before it. */
function processorMsByPs(pid: number): number {
  const text = execFileSync('ps', ['-o', 'time=', '-p', String(pid)], { encoding: 'utf8' }).trim()
  return text.split(':').reduce((seconds, part) => seconds * 60 + Number(part), 0) * 1000
}
