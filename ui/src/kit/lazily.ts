// Code that comes when it is first needed.
import { type ComponentType, lazy } from "react";

const AGAIN_MS = 1000;

/** While the server is gone it is asked for again, so that the page around it stays, with all that was typed there. */
export function lazily<P>(load: () => Promise<{ default: ComponentType<P> }>) {
  return lazy(async () => {
    for (;;) {
      const loaded = await load().catch(() => null);
      if (loaded) return loaded;
      await new Promise((done) => setTimeout(done, AGAIN_MS));
    }
  });
}
