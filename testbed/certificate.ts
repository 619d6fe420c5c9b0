import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generate } from 'selfsigned';

export interface LoopbackCertificate {
  readonly certFile: string;
  readonly keyFile: string;
}

/** A self-signed certificate for 127.0.0.1, as a chart's Secret would hold one. */
export async function loopbackCertificate(directory: string): Promise<LoopbackCertificate> {
  const pems = await generate([{ name: 'commonName', value: 'kcover-intake' }], {
    keyType: 'ec',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 7, ip: '127.0.0.1' },
          { type: 2, value: 'localhost' },
        ],
      },
    ],
  });
  const files = { certFile: join(directory, 'intake.crt'), keyFile: join(directory, 'intake.key') };
  writeFileSync(files.certFile, pems.cert);
  writeFileSync(files.keyFile, pems.private, { mode: 0o600 });
  return files;
}
