// The console starts here.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { setNonce } from "get-nonce";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ApiError } from "./api/error";
import { askBeforeLeaving } from "./form/kept";
import "./kit/tokens.css";
import "./kit/base.css";
import "./kit/editor.css";
import { router } from "./router";
import { applyTheme } from "./shell/preferences";
import { applyLanguage } from "./words";

// Styles that libraries add at run time carry the page's nonce; nothing else may add any.
const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce;
if (nonce) setNonce(nonce);
applyTheme();
applyLanguage();
askBeforeLeaving();

/** What was refused will be refused again; what could not be reached may be back soon. */
function isWorthRetrying(count: number, error: unknown): boolean {
  if (error instanceof ApiError && error.code === "NO_ANSWER") return false;
  const status = error instanceof ApiError ? error.status : 0;
  return count < 2 && (status === 0 || status >= 500);
}

const queries = new QueryClient({
  defaultOptions: {
    queries: { retry: isWorthRetrying, retryDelay: 500, staleTime: 1_000, refetchOnWindowFocus: false },
  },
});

const root = document.getElementById("root");
if (!root) throw new Error("the page has no #root");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
