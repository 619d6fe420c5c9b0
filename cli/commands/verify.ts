import { writeFile } from 'node:fs/promises';
import { KcoverError } from '../../contract/errors.ts';
import { verificationLimit } from '../../faults/verification/verification.ts';
import { type VerificationTool, verificationTools, verify as verdictOf } from '../../faults/verification/index.ts';
import type { CommandEntry, ExitName, Typed } from '../program/command.ts';
import type { CliEnvironment } from '../program/environment.ts';
import { piecesOf } from '../program/input.ts';

const exits: Readonly<Record<ReturnType<typeof verdictOf>['verdict'], ExitName>> = {
  passed: 'ok',
  failed: 'failed',
  busy: 'unknown',
  unknown: 'unknown',
};

export const verify: CommandEntry = {
  summary: 'Say whether a test of a machine passed, for the Job of a hook: one JSON document, and exit code 0, 1 or 2.',
  arguments: [{ name: '[file]', describe: 'Output of the test; - or nothing reads stdin' }],
  options: [
    {
      flags: '--tool <tool>',
      describe:
        'dcgm: dcgmi diag --json; nccl: nccl-tests, also -J; gpu-burn; recovery-action: nvidia-smi --query-gpu=index,uuid,gpu_recovery_action --format=csv',
      choices: verificationTools,
      required: true,
    },
    {
      flags: '--at-least <gbps>',
      describe: 'Least bus bandwidth of nccl, GB/s; without it, only its values are checked',
    },
    { flags: '--devices <number>', describe: 'How many GPUs must have been tested' },
    { flags: '--exit-code <code>', describe: 'Exit code of the tool, or a file that has it' },
    { flags: '--write <file>', describe: 'Also write the document there: /dev/termination-log' },
  ],
  examples: [
    'dcgmi diag -r 2 --json | kcover verify --tool dcgm --devices 8',
    'kcover verify --tool nccl --at-least 420 /results/nccl.txt --write /dev/termination-log',
  ],
  exits: ['unknown'],
  async run(typed, { environment }) {
    const tool = typed.value('tool') as VerificationTool;
    const [atLeast, devices] = [numberOf(typed, 'at-least'), numberOf(typed, 'devices')];
    const result = await outputOf(typed.argument('file'), environment)
      .then(async (text) =>
        verdictOf(tool, text, {
          ...(atLeast !== undefined && { atLeast }),
          ...(devices !== undefined && { devices }),
          ...(await exitCodeOf(typed.option('exit-code'), environment)),
        }),
      )
      // What cannot be read says nothing of the machine.
      .catch((error: unknown) => {
        if (error instanceof KcoverError && error.code === 'usage') throw error;
        const because = error instanceof Error ? error.message : 'unknown failure';
        return { verdict: 'unknown', because: `the output cannot be read: ${because.slice(0, 300)}` } as const;
      });
    const text = JSON.stringify(result);
    const file = typed.option('write');
    if (file !== undefined)
      await writeFile(file, text).catch((error: unknown) => {
        throw new KcoverError('usage', `--write: ${error instanceof Error ? error.message : 'unknown failure'}`);
      });
    return { data: result, text, exit: exits[result.verdict] };
  },
};

/** The output, up to more than is read. */
async function outputOf(file: string, environment: CliEnvironment): Promise<string> {
  let text = '';
  for await (const piece of piecesOf(file, environment, 'dcgmi diag -r 2 --json | kcover verify --tool dcgm')) {
    text += piece;
    if (text.length > verificationLimit) break;
  }
  return text;
}

async function exitCodeOf(
  given: string | undefined,
  environment: CliEnvironment,
): Promise<{ readonly exitCode?: number }> {
  if (given === undefined) return {};
  const text = /^\d{1,3}$/.test(given) ? given : (await outputOf(given, environment)).trim();
  if (!/^\d{1,3}$/.test(text)) throw new Error(`${given} has no exit code`);
  return { exitCode: Number(text) };
}

function numberOf(typed: Typed, name: string): number | undefined {
  const given = typed.option(name);
  if (given === undefined) return undefined;
  if (/^\d{1,6}(?:\.\d{1,3})?$/.test(given)) return Number(given);
  throw new KcoverError('usage', `--${name} is ${given}`, { remedy: 'give a number' });
}
