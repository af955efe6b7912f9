# Vigie without embedded servers: DATABASE_URL and NATS_URL name the real ones.
#
#   docker build --tag vigie .
#   docker run --env DATABASE_URL=… --env NATS_URL=… --publish 8080:8080 vigie
#   docker run --env DATABASE_URL=… vigie keys create --client NAME

# An exact version, long-term support until April 2028; `npm run test:image` runs tests on it. Any from 20.19 on will do.
ARG NODE_VERSION=24.21.0
# The index of that tag for linux/amd64 and linux/arm64.
ARG NODE_DIGEST=sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6

FROM node:${NODE_VERSION}-bookworm-slim@${NODE_DIGEST} AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json ./
COPY config config
COPY src src
RUN npm run build && npm prune --omit=dev --omit=optional --no-audit --no-fund

FROM node:${NODE_VERSION}-bookworm-slim@${NODE_DIGEST}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Vigie" \
    org.opencontainers.image.description="Saved-search alert engine for property listings" \
    org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}"
ENV NODE_ENV=production \
    VIGIE_API_ADDRESS=0.0.0.0:8080 \
    VIGIE_OPERATIONS_ADDRESS=0.0.0.0:9464
WORKDIR /app
COPY --from=build /build/node_modules node_modules
# dist has the layout of the repository: src/main.js, config/default.env, package.json.
COPY --from=build /build/dist ./
COPY LICENSE ./
USER node
# The REST API; health and metrics.
EXPOSE 8080 9464
# A start reads every search from PostgreSQL before it is healthy.
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s --retries=3 \
    CMD ["node", "--eval", "fetch(`http://127.0.0.1:${process.env.VIGIE_OPERATIONS_ADDRESS.split(':').at(-1)}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# SIGTERM drains for up to VIGIE_DRAIN_TIMEOUT_MS, 30 s unless set: allow as much (docker stop --time 40).
# A batch of changes should die young: with V8's 16 MB half of it is copied to where collecting is dear.
ENTRYPOINT ["node", "--max-semi-space-size=64", "src/main.js"]
CMD ["serve"]
