/** gpu-burn ends with exit code 0 whatever it finds: only its last lines say something. Source: gpu_burn-drv.cpp. */

import { few, type Verification, verificationLines, verified } from './verification.ts';

export function readGpuBurn(text: string): Verification {
  const lines = verificationLines(text);
  const begin = lines.findLastIndex((line) => /^Tested \d{1,3} GPUs:/.test(line.trim()));
  if (begin < 0) return verified('unknown', 'it has no result: it was cut off, or did not finish');
  const tested = Number(/\d{1,3}/.exec(lines[begin] ?? '')?.[0]);
  const gpus = new Map(
    lines.slice(begin + 1).flatMap((line) => {
      const [, gpu, state] = /^\s{0,20}GPU (\d{1,3}): (\w{1,20})/.exec(line) ?? [];
      return gpu === undefined || state === undefined ? [] : [[gpu, state] as const];
    }),
  );
  const faulty = [...gpus].filter(([, state]) => state === 'FAULTY').map(([gpu]) => `GPU ${gpu}`);
  if (faulty.length > 0) return verified('failed', `faulty: ${few(faulty, 16)}`, tested);
  const good = [...gpus.values()].filter((state) => state === 'OK').length;
  return tested > 0 && good === tested && gpus.size === tested
    ? verified('passed', `${good} GPUs are OK`, good)
    : verified('unknown', `${good} of ${tested} GPUs are OK`, good);
}
