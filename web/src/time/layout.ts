// The columns that all rows of the time view share, in pixels: names, a plot's axis, and the margin with the names of
// its thresholds.
export const names = 216;
export const left = 70;
export const right = 118;
