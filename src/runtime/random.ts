// Chance is passed in, so that a run can be repeated by its seed.

/** A number from 0 up to, but not including, 1. */
export type Random = () => number
