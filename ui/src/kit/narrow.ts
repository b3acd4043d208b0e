// Where tables become cards and the navigation a button; the style sheets say the same.
export const NARROW = "(max-width: 760px)";
