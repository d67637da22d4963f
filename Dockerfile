# One HTTP process: the API, its pages, the console and MCP at /mcp. docs/operating.md says how to run it.
FROM node:24.21.0-slim AS build
WORKDIR /build
COPY . .
RUN npm ci --ignore-scripts && node scripts/bundle.ts

FROM node:24.21.0-slim
ENV NODE_ENV=production PAYMENTS_HOST=0.0.0.0 PAYMENTS_PORT=4010 XDG_DATA_HOME=/data
COPY --from=build /build/bundle /app
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 4010
HEALTHCHECK --interval=10s --timeout=8s --start-period=20s CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PAYMENTS_PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/server/cli.js"]
CMD ["serve"]
