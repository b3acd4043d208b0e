// What stands before every path (`serve --base-path`): the server writes it into the page.
const written =
  typeof document === "undefined" ? "" : document.querySelector<HTMLMetaElement>('meta[name="base"]')?.content;

export const base = !written || written.startsWith("__") ? "" : written.replace(/\/$/, "");
