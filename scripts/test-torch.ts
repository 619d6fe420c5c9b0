/**
 * `npm run test:torch`: the example preflight runner, four times over loopback on CPU, with rounds planned by the controller; one rank is slowed, and
 * the reports must show exactly that rank. Then the tier `torch`: the example trainer. Needs a Python with torch (PYTHON names one; otherwise python3
 * and that of Debian are tried); without it nothing is tested.
 */

import fastify, { type FastifyRequest } from 'fastify';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generate } from 'selfsigned';
import { rejections } from '../contract/wire/reports.ts';
import { controllerSettings } from '../contract/settings/settings.schema.ts';
import type { NodeJudgement, PreflightReport } from '../contract/preflight/preflight.ts';
import { openRounds } from '../controller/preflight/rounds/endpoint.ts';
import { beginRounds } from '../controller/preflight/rounds/polls.ts';
import { readReport, reportProfiles } from '../faults/preflight/report.ts';
import { judgeStatistical } from '../policy/preflight/statistical.ts';

const size = 4;
const slowed = 2;
const nodeOf = (rank: number): string => `gpu-${rank}`;
const workload = { namespace: 'train', name: 'llm', uid: 'test-torch' };
const pythons = process.env['PYTHON'] === undefined ? ['python3', '/usr/bin/python3'] : [process.env['PYTHON']];
const python =
  pythons.find((each) => spawnSync(each, ['-c', 'import torch.distributed'], { stdio: 'ignore' }).status === 0) ?? '';
const root = fileURLToPath(new URL('..', import.meta.url));
const runner = join(root, 'examples/preflight/preflight.py');

if (python === '')
  console.log(
    `not tested: no torch in ${pythons.join(' or ')} (apt-get install python3-torch, pip install torch, or PYTHON=<one that has it>)`,
  );
else process.exitCode = Math.max(await test(), trainerTests());

function trainerTests(): number {
  const node = [
    '--disable-warning=ExperimentalWarning',
    '--experimental-vm-modules',
    join(root, 'node_modules/jest/bin/jest.js'),
  ];
  const jest = ['--config', join(root, 'test/jest.torch.json'), '--reporters', join(root, 'scripts/test-reporter.mjs')];
  return (
    spawnSync(process.execPath, [...node, ...jest], {
      cwd: root,
      stdio: 'inherit',
      env: { ...process.env, PYTHON: python },
    }).status ?? 1
  );
}

async function test(): Promise<number> {
  const scratch = mkdtempSync(join(tmpdir(), 'kcover-torch-'));
  const children: ChildProcess[] = [];
  process.once('exit', () => {
    for (const child of children) child.kill('SIGKILL');
    rmSync(scratch, { recursive: true, force: true });
  });
  const stop = new AbortController();
  const { server, url } = await serve(scratch, stop.signal);
  const ranks = Array.from({ length: size }, (_, rank) => rank);
  const codes = await Promise.all(ranks.map((rank) => run(rank, scratch, url, children)));
  stop.abort();
  await server.close();
  const reports = ranks.map((rank) => reportOf(scratch, rank));
  return conclude(codes, judgeStatistical(reports, { size, threshold: 0 }).nodes);
}

/** The real endpoint without authentication: the token of a rank is its name. */
async function serve(
  scratch: string,
  signal: AbortSignal,
): Promise<{ server: ReturnType<typeof fastify>; url: string }> {
  const pair = await generate([{ name: 'commonName', value: 'kcover' }], {
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }],
  });
  writeFileSync(join(scratch, 'ca.crt'), pair.cert);
  const server = fastify({ https: { key: pair.private, cert: pair.cert }, forceCloseConnections: true, logger: false });
  const rounds = beginRounds({
    settings: controllerSettings.parse({}).preflight,
    podOf: (uid) => ({ uid, workload, rank: Number(uid), node: nodeOf(Number(uid)), createdAt: '' }),
    signal,
    log: {
      info: (...[line, text]: readonly unknown[]) =>
        console.log(`controller: ${String(text)}: ${JSON.stringify(line)}`),
    },
  });
  // Each rank is identified by its token: nothing else of the intake is simulated here.
  const rankOf = ({ headers }: FastifyRequest) => headers.authorization?.replace('Bearer ', '') ?? '';
  openRounds(server, {
    reporterOf: (request) => ({ kind: 'reporter', node: nodeOf(Number(rankOf(request))), podUid: rankOf(request) }),
    rounds: () => rounds,
    reject(reply, { rejection, because }) {
      console.log(`controller: refused: ${because}`);
      return reply.code(rejections[rejection]).send({ error: rejection, because });
    },
  });
  return { server, url: await server.listen({ host: '127.0.0.1', port: 0 }) };
}

/** Runs one rank to its end. */
function run(rank: number, scratch: string, url: string, children: ChildProcess[]): Promise<number> {
  const own = join(scratch, nodeOf(rank));
  mkdirSync(join(own, 'data'), { recursive: true });
  writeFileSync(join(own, 'token'), String(rank));
  const child = spawn(python, [runner], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      ...process.env,
      KCOVER_URL: url,
      KCOVER_TOKEN_FILE: join(own, 'token'),
      KCOVER_CA_FILE: join(scratch, 'ca.crt'),
      NAMESPACE: workload.namespace,
      WORKLOAD: workload.name,
      SIZE: String(size),
      RANK: String(rank),
      NODE_NAME: nodeOf(rank),
      // Every rank is a host of its own, with its own ports: a master listens on all addresses.
      POD_IP: `127.0.0.${rank + 1}`,
      PREFLIGHT_PORT: String(20_000 + (process.pid % 150) * 80 + rank * 20),
      PREFLIGHT_DIR: own,
      PREFLIGHT_STORAGE: join(own, 'data'),
      PREFLIGHT_ELEMENTS: String(2 ** 20),
      GLOO_SOCKET_IFNAME: 'lo',
      OMP_NUM_THREADS: '1',
      CUDA_VISIBLE_DEVICES: '',
      PYTHONDONTWRITEBYTECODE: '1',
      // The delay far exceeds how much four ranks on two cores disturb each other.
      ...(rank === slowed && { PREFLIGHT_SLOWED_MS: '500' }),
    },
  });
  children.push(child);
  child.stderr
    ?.setEncoding('utf8')
    .on('data', (text: string) => process.stdout.write(text.replaceAll(/^(?=.)/gm, `${nodeOf(rank)}: `)));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
}

function reportOf(scratch: string, rank: number): PreflightReport {
  const text = readFileSync(join(scratch, nodeOf(rank), workload.namespace, `${workload.name}-${rank}.json`), 'utf8');
  const read = readReport(text, reportProfiles.live);
  if (read.kind === 'problem')
    throw new Error(`the report of rank ${rank} cannot be used: ${read.field}: ${read.because}`);
  return read.report;
}

function conclude(codes: readonly number[], nodes: readonly NodeJudgement[]): number {
  console.table(
    nodes.map(({ node, verdict, confidence, because }) => ({
      node,
      verdict,
      confidence: confidence.toFixed(3),
      because,
    })),
  );
  const found = nodes.filter(({ verdict }) => verdict === 'slow' || verdict === 'failed').map(({ node }) => node);
  const right = codes.every((code) => code === 0) && found.join() === nodeOf(slowed);
  console.log(
    `${right ? 'passed' : 'failed'}: ${nodeOf(slowed)} was slowed, found: ${found.join(', ') || 'none'}; exit codes ${codes.join(', ')}`,
  );
  return right ? 0 : 1;
}
