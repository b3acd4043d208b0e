// Makes the router of the list of pages.
import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { base } from "./api/base";
import { wishFocus } from "./kit/focus";
import { pages } from "./routes";
import { Broken } from "./shell/broken";
import { Missing } from "./shell/missing";
import { Root } from "./shell/root";

const root = createRootRoute({ component: Root, notFoundComponent: Missing, errorComponent: Broken });

const children = pages.map(({ path, load }) =>
  createRoute({
    getParentRoute: () => root,
    path,
    component: lazyRouteComponent(load),
    // Filters and tabs are texts in the address, whatever they look like.
    validateSearch: (search: Record<string, unknown>) => search,
    errorComponent: Broken,
  }),
);

export const router = createRouter({
  basepath: base || "/",
  routeTree: root.addChildren(children),
  defaultPreload: "intent",
  scrollRestoration: true,
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== "");
    const text = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
    return text && `?${text}`;
  },
});

router.subscribe("onBeforeNavigate", ({ fromLocation, toLocation }) => {
  if (fromLocation && fromLocation.pathname !== toLocation.pathname) wishFocus();
});
