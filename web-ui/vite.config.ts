import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The page is served with a strict Content-Security-Policy: nothing inline, nothing from elsewhere.
export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "../src/palimpsest/web/static",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1500,
  },
});
