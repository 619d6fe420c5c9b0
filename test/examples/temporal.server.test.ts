/** Runs examples/temporal: the dev server with the real program, the values with the real helm. */

import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { V1Deployment, V1Service } from '@kubernetes/client-node';
import { parseAllDocuments } from 'yaml';
import { searchAttributes } from '../../contract/ids.ts';
import { readEnvironment } from '../../testbed/parts/environment.ts';
import { temporalProgram } from '../../testbed/parts/temporal.ts';
import { createRunDirectory } from '../../testbed/run-directory.ts';
import { Ports } from '../../testbed/servers/ports.ts';
import { probe } from '../../testbed/servers/probe.ts';
import { server, type Server } from '../../testbed/servers/server.ts';
import { render } from '../chart/rendered.ts';
import { kcover } from '../cli/kcover.ts';

const examples = join(import.meta.dirname, '../../examples/temporal');

describe('the dev server', () => {
  const [deployment, service] = parseAllDocuments(readFileSync(join(examples, 'dev-server.yaml'), 'utf8')).map(
    (each) => each.toJS() as unknown,
  ) as [V1Deployment, V1Service];
  const container = deployment.spec?.template.spec?.containers[0];
  let directory: string;
  let ports: Ports;
  let temporal: Server;
  let address: string;

  beforeAll(async () => {
    directory = createRunDirectory();
    ports = new Ports(directory);
    const [port, ui] = [await ports.take(), await ports.take()];
    address = `127.0.0.1:${port}`;
    const program = await temporalProgram(readEnvironment(), () => undefined);
    // Adapted to this machine: another address, other ports, another place for its file.
    const args = (container?.args ?? []).map((arg) => arg.replace('/data', directory).replace('0.0.0.0', '127.0.0.1'));
    temporal = server(directory, {
      name: 'temporal-dev',
      program,
      args: [...args, `--port=${port}`, `--ui-port=${ui}`],
      missing: () => probe(`http://127.0.0.1:${ui}`),
    });
    await temporal.start();
  });
  afterAll(async () => {
    await temporal?.stop();
    ports?.release();
    if (directory) rmSync(directory, { recursive: true, force: true });
  });

  it('has all that kcover needs of Temporal, in the default namespace of the chart', async () => {
    const { stdout } = await kcover(['doctor', '--output', 'json'], '', {
      KUBECONFIG: '/nonexistent',
      TEMPORAL_ADDRESS: address,
      TEMPORAL_NAMESPACE: 'kcover',
    });
    const found = JSON.parse(stdout) as { check: string; result: string }[];
    expect(found).toContainEqual(expect.objectContaining({ check: 'temporal', result: 'ok' }));
    expect(found).toContainEqual(expect.objectContaining({ check: 'search attributes', result: 'ok' }));
    expect((container?.args ?? []).filter((arg) => arg.startsWith('--search-attribute'))).toHaveLength(
      Object.keys(searchAttributes).length,
    );
  });

  it('is reached through its Service, at the ports that it listens on', () => {
    expect(service.spec?.selector).toEqual(deployment.spec?.template.metadata?.labels);
    const ofContainer = new Map(container?.ports?.map(({ name, containerPort }) => [name, containerPort]));
    expect(service.spec?.ports?.map(({ name, port }) => [name, port])).toEqual([...ofContainer]);
  });
});

describe('values for Temporal Cloud', () => {
  it.each([
    [
      'cloud-api-key.yaml',
      { TEMPORAL_ADDRESS: 'us-east-1.aws.api.temporal.io:7233', TEMPORAL_TLS: 'true', TEMPORAL_API_KEY: undefined },
    ],
    ['cloud-mtls.yaml', { TEMPORAL_TLS: 'true', TEMPORAL_TLS_CLIENT_CERT_PATH: '/etc/kcover/temporal/client/tls.crt' }],
  ])('are accepted by the chart: %s', async (file, expected) => {
    const { container } = (await render(join(examples, file))).pod('worker');
    const variables = Object.fromEntries((container.env ?? []).map(({ name, value }) => [name, value]));
    expect(Object.keys(variables)).toEqual(expect.arrayContaining(Object.keys(expected)));
    expect(variables).toMatchObject(expected);
  });
});
