# Two images: `--target agent` for the nodes, `--target kcover`, the last, for controllers, workers and the command line.
# `--target agent-metax` is the agent with MetaX's mx-smi.

# A Debian with npm, to build with; of it the images keep the C library alone. By digest where what is built must be the same tomorrow.
ARG BASE=node:24.21.0-bookworm-slim
# Has /usr/local/bin/mx-smi. Only agent-metax needs it.
ARG MX_SMI_IMAGE=scratch

FROM ${BASE} AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
# A registry of your own, its token, a proxy: --secret id=npmrc,src=$HOME/.npmrc. Nothing of it stays.
RUN --mount=type=secret,id=npmrc NPM_CONFIG_USERCONFIG=/run/secrets/npmrc npm ci
COPY LICENSE tsconfig.json tsconfig.build.json ./
COPY scripts/build.ts scripts/
COPY scripts/image scripts/image
COPY bin bin
COPY activities activities
COPY agent agent
COPY cli cli
COPY contract contract
COPY controller controller
COPY faults faults
COPY kube kube
COPY policy policy
COPY workflows workflows
RUN npm run build && node scripts/image/main.ts /image

# Node and the libraries that it loads: no shell, no package manager.
FROM scratch AS system
COPY --from=build /image/system /
# Where nothing is mounted, records are still written.
COPY --from=build --chown=1000:1000 /image/system/var/lib/kcover /var/lib/kcover
ENV NODE_ENV=production PATH=/usr/local/bin
WORKDIR /opt/kcover
# By number, so that Kubernetes can see that it is not root. The chart starts the agent as root: it reads /dev/kmsg.
USER 1000:1000
ENTRYPOINT ["kcover"]

FROM system AS agent
LABEL org.opencontainers.image.title="kcover-agent" org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /image/agent .

FROM ${MX_SMI_IMAGE} AS metax
FROM agent AS agent-metax
COPY --from=metax /usr/local/bin/mx-smi /usr/local/bin/mx-smi

FROM system AS kcover
LABEL org.opencontainers.image.title="kcover" org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /image/kcover .
