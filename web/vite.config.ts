import react from "@vitejs/plugin-react"
import { defineConfig } from "vite"

// `npm run dev` shows the page with the API of a server beside it: `make serve`.
const server = "http://127.0.0.1:8000"
const api = ["/v1", "/streaming", "/deltawire.v1.Functions", "/stream.ResponseStreamingService", "/playground.json"]

export default defineConfig({
  base: "./", // the page may be mounted under any path
  plugins: [react()],
  build: {
    outDir: "../src/deltawire/playground",
    emptyOutDir: true,
    assetsInlineLimit: 0, // the policy has no data: addresses
    modulePreload: false,
  },
  server: {
    proxy: {
      ...Object.fromEntries(api.map((path) => [path, { target: server, changeOrigin: true, ws: true, headers: { origin: server } }])),
      "^/ws$": { target: server, changeOrigin: true, ws: true, headers: { origin: server } },
    },
  },
})
