/**
 * The settings file of the reference project's agent (`vendor`, `interval`, `metaX`), as settings of ours. As there, a number out of its range has the
 * default, and one of the wrong type is an error; other than there, an unknown key is an error too.
 */

import { z } from 'zod';

const inRange = (byDefault: number, isUsable: (value: number) => boolean) =>
  z
    .int()
    .default(byDefault)
    .transform((value) => (isUsable(value) ? value : byDefault));

const metaX = z
  .strictObject({
    hcaIDs: z
      .array(z.string().regex(/^[\w.-]{1,64}$/, { error: 'must be the name of an RDMA device, such as mlx5_0' }))
      .max(64)
      .default([]),
    day2CheckHour: z.int().default(10),
    day2CheckTime: z.string().default('10:00'),
    gpuNum: inRange(8, (value) => value >= 0 && value <= 64),
    temperature: inRange(85, (value) => value > 0 && value <= 200),
    eccMaxCount: inRange(64, (value) => value >= 0),
    ntpMaxOffsetMillis: inRange(10, (value) => value > 0 && value <= 86_400_000),
  })
  .prefault({});

/** A number that was never a vendor stood for the default; a positive one ended the agent. */
const vendorForm = { error: 'must be 1 or metax, 2 or nvidia' } as const;
const vendor = z
  .union([z.int(), z.string()], vendorForm)
  .refine((value) => (typeof value === 'number' ? value <= 2 : value === 'metax' || value === 'nvidia'), vendorForm)
  .default('metax')
  .transform((value) => (value === 2 || value === 'nvidia' ? 'nvidia' : 'metax'));

/**
 * Its daily check becomes one every 10 minutes, so the hour has no meaning; the interval never had one. An NVIDIA agent checked nothing, so it has
 * our defaults.
 */
export const referenceAgent = z.strictObject({ vendor, interval: z.int().default(5), metaX }).transform((given) =>
  given.vendor === 'nvidia'
    ? {}
    : {
        links: { devices: given.metaX.hcaIDs },
        metax: {
          gpus: given.metaX.gpuNum,
          temperature: given.metaX.temperature,
          eccErrors: given.metaX.eccMaxCount,
        },
        clock: { maxOffset: `${given.metaX.ntpMaxOffsetMillis}ms` },
      },
);

/** Whether a file is that of the reference project's agent: ours has none of its keys. */
export const isReferenceAgent = (written: unknown): boolean =>
  typeof written === 'object' && written !== null && ('vendor' in written || 'metaX' in written);
