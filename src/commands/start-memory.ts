import { setFlagsFromString } from 'node:v8'

// Startup creates more garbage than any later phase. The young generation of the heap would grow to hold that garbage,
// and would never shrink. That would cost 10 MB in each idle server, or 30 MB in a server that runs from the source. So
// growth is allowed only after startup. V8 reads the growth factor each time it considers growing the heap; the default
// is 2, and 1 prevents growth.

export function holdYoungHeap(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}

export function letYoungHeapGrow(): void {
  setFlagsFromString('--semi-space-growth-factor=2')
}
