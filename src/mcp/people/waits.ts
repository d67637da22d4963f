/**
 * Waits before each look at what a person does on a page, milliseconds. Together less than the minute that hosts give a
 * request; who takes longer is asked again.
 */
export const waitsMs = [0, 2_000, 3_000, 5_000, 5_000, 10_000, 10_000, 10_000]

/** How often a page is offered for one call. */
export const mostRounds = 3
