// Whether there is too little room for a picture.
import { useSyncExternalStore } from "react";
import { NARROW } from "../../kit/narrow";

const query = matchMedia(NARROW);

export function useNarrow(): boolean {
  const subscribe = (tell: () => void) => {
    query.addEventListener("change", tell);
    return () => query.removeEventListener("change", tell);
  };
  return useSyncExternalStore(subscribe, () => query.matches);
}
