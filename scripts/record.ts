/**
 * `npm run record`: runs every scenario of test/replay/recordings.ts on a real Temporal server and keeps the histories of this version.
 * Earlier recordings stay, because running workflows have such histories; `-- --again` replaces them while the version is not released.
 */

import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { recordings } from '../test/replay/recordings.ts';
import { activitiesOf, FakeCluster } from '../test/support/fake-cluster.ts';
import { startRig } from '../test/support/rig.ts';
import { startTemporalOnly } from '../test/support/temporal-only.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const histories = join(root, 'test/replay/histories');
const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };

if ((await readFile(join(root, 'CHANGELOG.md'), 'utf8')).includes(`## [${version}]`)) {
  console.error(
    `error[refused]: nothing is recorded\n  because: ${version} is released, and histories of a release are never changed\n  try:     raise the version in package.json`,
  );
  process.exit(3);
}

const stop = await startTemporalOnly(console.error);
try {
  await record();
} finally {
  await stop();
}

async function record(): Promise<void> {
  let cluster = new FakeCluster();
  const rig = await startRig(activitiesOf(() => cluster));
  try {
    for (const recording of recordings) {
      cluster = new FakeCluster();
      cluster.client = rig.client;
      for (const [name, workflowId] of Object.entries(await recording({ rig, cluster }))) {
        const file = join(histories, `${name}@${version}.json`);
        if (existsSync(file) && !process.argv.includes('--again')) continue;
        const text = withoutTraces(historyToJSON(await rig.client.workflow.getHandle(workflowId).fetchHistory()));
        await rig.replay(workflowId);
        await mkdir(dirname(file), { recursive: true });
        await rm(file, { force: true });
        await writeFile(file, text);
        console.log(`recorded ${name}@${version}`);
      }
    }
  } finally {
    await rig.close();
  }
}

/** One event a line; process and queue names that contain the name of this machine get the name of the program. */
function withoutTraces(json: string): string {
  const machine = new RegExp(`^\\d+@${hostname().replace(/[^\w-]/g, '\\$&')}.*$`);
  const { events } = JSON.parse(json, (_key, value: unknown) =>
    typeof value === 'string' ? value.replace(machine, 'kcover').replaceAll(root, '/kcover/') : value,
  ) as { events: unknown[] };
  return `{"events":[\n${events.map((event) => JSON.stringify(event)).join(',\n')}\n]}\n`;
}
