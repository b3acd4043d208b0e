// What every field of a form needs to know of the whole.
import { createContext, use } from "react";
import { joined } from "../api/error";
import type { Language } from "../words";
import { isBelow, isSame, type Path } from "./path";
import type { Schema } from "./schema";

type Context = {
  root: Schema;
  whole: unknown;
  problems: { at: Path; message: string }[];
  language: Language;
  isReadOnly: boolean;
};

export const FormContext = createContext<Context>({
  root: {},
  whole: {},
  problems: [],
  language: "en",
  isReadOnly: false,
});

export const useForm = () => use(FormContext);

/** All that is wrong exactly there. */
export function useProblem(path: Path): string | undefined {
  return joined(useForm().problems.filter(({ at }) => isSame(at, path)));
}

export function useHasProblemBelow(paths: Path[]): boolean {
  return useForm().problems.some(({ at }) => paths.some((path) => isBelow(at, path)));
}
