// The same tree of words with texts of any language: what one language has, every other one must have.
export type Wide<T> = T extends string
  ? string
  : T extends (...args: infer A) => string
    ? (...args: A) => string
    : { [K in keyof T]: Wide<T[K]> };
