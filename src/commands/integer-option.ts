import { ConfigError } from '../config/load.ts'
import { show } from '../core/errors.ts'

/** Parses the value of an option as an integer from 1 to `max`. @throws ConfigError */
export function integerOption(flag: string, text: string, max: number): number {
  const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
  if (value >= 1 && value <= max) return value
  throw new ConfigError(`${flag} got ${show(text)}; it accepts an integer from 1 to ${max}.`)
}
