/** Checks whether an agent could work on this node: its files, and its connection to the controller. */

import { access, constants, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Agent, fetch } from 'undici';
import { KcoverError } from '../../contract/errors.ts';
import { preflightDirectory } from '../../contract/preflight/preflight.ts';
import { reportPath } from '../../contract/wire/reports.ts';
import type { AgentSettings } from '../../contract/settings/settings.schema.ts';
import { certificateFinding } from './certificate.ts';
import { failed, type Finding, look, ok } from './finding.ts';

export async function examineAgent(
  { controller, kernelLog, spool }: AgentSettings,
  hostRoot: string,
): Promise<readonly Finding[]> {
  return Promise.all([
    readable('token', controller.tokenFile),
    look('authority', () => certificateFinding('authority', controller.caFile, Date.now())),
    readable('kernel log', join(hostRoot, kernelLog.path)),
    look(containerFiles, () => filesOfContainers(hostRoot)),
    look('spool', async () => {
      const writable = await can(spool.directory, constants.W_OK);
      return writable === undefined
        ? ok('spool', `${spool.directory} can be written`)
        : failed('spool', writable, 'mount a directory that the agent may write');
    }),
    look('intake', () => intake(controller)),
  ]);
}

const containerFiles = 'files of containers';

async function filesOfContainers(hostRoot: string): Promise<Finding> {
  const above = dirname(preflightDirectory);
  const place = join(hostRoot, above);
  const why = await can(place, constants.R_OK | constants.X_OK);
  if (why === undefined) return ok(containerFiles, `${place} can be read`);
  return failed(
    containerFiles,
    `${why}: preflight reports and progress of training cannot be read`,
    `mount ${above} of the node at ${place}`,
  );
}

const readable = (check: string, file: string): Promise<Finding> =>
  look(check, async () => {
    const why = await can(file, constants.R_OK);
    if (why !== undefined) throw new KcoverError('file.unreadable', why);
    return ok(check, `${file} can be read`);
  });

/** Why the access is not possible; undefined when it is. */
async function can(file: string, mode: number): Promise<string | undefined> {
  try {
    await access(file, mode);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : `${file} cannot be used`;
  }
}

/** Any HTTP answer passes: the TLS handshake has shown that the server has a certificate of our authority. */
async function intake({ url, caFile }: AgentSettings['controller']): Promise<Finding> {
  const ca = await readFile(caFile, 'utf8').catch(() => undefined);
  const dispatcher = new Agent({ connect: { ...(ca !== undefined && { ca }) } });
  try {
    await fetch(new URL(reportPath, url), { dispatcher, signal: AbortSignal.timeout(5000) });
    return ok('intake', `${url} answers`);
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    return {
      ...failed(
        'intake',
        `${url}: ${cause}`,
        'look at controller.url, controller.caFile and the Service of the intake',
      ),
      unreachable: true,
    };
  } finally {
    await dispatcher.destroy();
  }
}
