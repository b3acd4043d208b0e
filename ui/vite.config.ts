/// <reference types="vitest/config" />
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// `npm run dev` shows the console before this server: MCP_SERVER=http://127.0.0.1:3095.
const server = process.env.MCP_SERVER ?? "http://127.0.0.1:3095";

export default defineConfig({
  plugins: [react()],
  // Scripts find each other wherever the server puts them; the page's own links are the server's to change.
  experimental: {
    renderBuiltUrl: (name, { hostType }) => (hostType === "html" ? `/${name}` : { relative: true }),
  },
  build: {
    outDir: "dist",
    assetsDir: "assets",
    target: "es2023",
    // The content security policy has no room for data: scripts and fonts.
    assetsInlineLimit: 0,
    // Polyfills of module preloading are inline scripts in old browsers only.
    modulePreload: { polyfill: false },
    manifest: true,
    chunkSizeWarningLimit: 700,
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: "yaml", test: /node_modules\/yaml\// }] } } },
  },
  server: { host: "127.0.0.1", proxy: { "/api": { target: server, changeOrigin: true } } },
  preview: { host: "127.0.0.1", proxy: { "/api": { target: server } } },
  test: { include: ["src/**/*.test.ts", "src/**/*.test.tsx"], environment: "node" },
});
