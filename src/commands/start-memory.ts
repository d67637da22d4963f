import { setFlagsFromString } from 'node:v8'

// Startup creates more garbage than any later phase. The heap's young generation grows for it and never shrinks, which
// costs ten megabytes in each idle server, and thirty in one that runs from the source. So it may grow only after
// startup. V8 reads the growth factor each time it considers growing the heap; the default is 2.

export function holdYoungHeap(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}

export function letYoungHeapGrow(): void {
  setFlagsFromString('--semi-space-growth-factor=2')
}
