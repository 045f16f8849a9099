# The image, for those who have a container builder. `npm run image` makes one without.
#
# A tag can be moved to other bytes, a digest cannot: it is what counts, the tag is for people. Both of a newer one are given as in
#   --build-arg BUILD_IMAGE=node:22-bookworm-slim@sha256:...
# docs/explanation/supply-chain.md says how to renew them.

ARG BUILD_IMAGE=node:22-bookworm-slim@sha256:43ac6c60b8f89723f746e8a92ce91abd5017e627ce1ddfe4238355d3a30b772c
ARG GO_IMAGE=golang:1.26-bookworm@sha256:a688600ca24f8a4d3ca77f95b0dd40704a9fc787c826660eb7ba0b641b8b175d
ARG RUN_IMAGE=gcr.io/distroless/nodejs22-debian12:nonroot@sha256:13593b7570658e8477de39e2f4a1dd25db2f836d68a0ba771251572d23bb4f8e

FROM ${BUILD_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
COPY dashboard/package.json dashboard/
RUN npm ci
COPY tsconfig.json ./
COPY scripts/build scripts/build
COPY src src
RUN npm run build && find dist -name '*.map' -delete

FROM ${BUILD_IMAGE} AS packages
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
COPY dashboard/package.json dashboard/
RUN npm ci --omit=dev && rm -rf node_modules/@mooring

# The CNI plugin, which `mooring node` puts on its node.
FROM ${GO_IMAGE} AS plugin
WORKDIR /src
COPY src/node/forwarder .
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w -buildid=' -o mooring .

# Node and its libraries, and nothing that could be run but it.
FROM ${RUN_IMAGE}
WORKDIR /app
COPY --from=packages /src/node_modules node_modules
COPY --from=build /src/dist dist
COPY --from=plugin /src/mooring cni/mooring
COPY config/crd config/crd
COPY package.json LICENSE ./
ENV NODE_ENV=production
USER 65532:65532
ENTRYPOINT ["/nodejs/bin/node", "/app/dist/main.js"]
