// Numbers and times as people of the chosen language write them.
import { useMemo } from "react";
import { useLanguage } from ".";

const DASH = "–";

export function useFormat() {
  const language = useLanguage();
  return useMemo(() => {
    const number = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
    const time = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium" });
    const short = new Intl.DateTimeFormat(language, { timeStyle: "medium" });
    const date = (text: string | null | undefined, format: Intl.DateTimeFormat) => {
      const at = text ? new Date(text) : null;
      return at && !Number.isNaN(at.getTime()) ? format.format(at) : DASH;
    };
    return {
      number: (value: number | null | undefined) =>
        value === null || value === undefined ? DASH : number.format(value),
      time: (text: string | null | undefined) => date(text, time),
      clock: (text: string | null | undefined) => date(text, short),
      bytes: (value: number) => bytes(value, number),
      duration: (us: number) =>
        us < 1000
          ? `${number.format(us)} µs`
          : us < 1_000_000
            ? `${number.format(us / 1000)} ms`
            : us < 60_000_000
              ? `${number.format(us / 1_000_000)} s`
              : `${number.format(us / 60_000_000)} min`,
      percent: (part: number, whole: number) => `${number.format(whole ? (100 * part) / whole : 0)} %`,
    };
  }, [language]);
}

function bytes(value: number, number: Intl.NumberFormat): string {
  const units = ["B", "KB", "MB", "GB"];
  const power = value > 0 ? Math.min(Math.floor(Math.log10(value) / 3), units.length - 1) : 0;
  return `${number.format(value / 1000 ** power)} ${units[power]}`;
}
