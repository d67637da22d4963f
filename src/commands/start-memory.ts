import { setFlagsFromString } from 'node:v8'

// A start makes garbage as no later moment does, and the part of the heap for new objects grows for it and stays grown:
// some ten megabytes in each idle server that a host keeps. So it grows only once the start is over. V8 reads the
// factor each time it thinks of growing; 2 is its own.

export function holdYoungHeap(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}

export function letYoungHeapGrow(): void {
  setFlagsFromString('--semi-space-growth-factor=2')
}
