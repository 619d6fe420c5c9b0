# One image for the three roles and the command line.

# By digest where what is built must be the same tomorrow: --build-arg NODE_IMAGE=node@sha256:...
ARG NODE_IMAGE=node:24.21.0-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY scripts/build.ts scripts/
COPY activities activities
COPY agent agent
COPY cli cli
COPY contract contract
COPY controller controller
COPY faults faults
COPY kube kube
COPY policy policy
COPY workflows workflows
RUN npm run build

# What runs, without what builds, the Node that npm would bring, and the parts for other systems.
FROM ${NODE_IMAGE} AS dependencies
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev && \
    rm -rf node_modules/node-linux-* node_modules/@temporalio/core-bridge/releases/*-apple-* node_modules/@temporalio/core-bridge/releases/*-windows-*

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="kcover" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV NODE_ENV=production
WORKDIR /opt/kcover
COPY package.json LICENSE ./
COPY bin bin
COPY --from=dependencies /src/node_modules node_modules
COPY --from=build /src/dist dist
RUN ln -s /opt/kcover/bin/kcover.js /usr/local/bin/kcover && mkdir -p /var/lib/kcover/records && chown 1000:1000 /var/lib/kcover/records
# By number, so that Kubernetes can see that it is not root. The agent is started as root: it reads /dev/kmsg.
USER 1000:1000
ENTRYPOINT ["kcover"]
