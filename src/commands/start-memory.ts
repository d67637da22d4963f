import { setFlagsFromString } from 'node:v8'

// A start creates more garbage than any later moment. The heap's young generation grows for it and never shrinks, which
// costs ten megabytes in each idle server, and thirty in one that runs from the source. So it may grow only after the
// start. V8 reads the factor each time it considers growing; 2 is its default.

export function holdYoungHeap(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}

export function letYoungHeapGrow(): void {
  setFlagsFromString('--semi-space-growth-factor=2')
}
