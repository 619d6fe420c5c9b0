import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generate } from 'selfsigned';

/** Paths of PEM files. */
export interface CertificateFiles {
  readonly certificate: string;
  readonly key: string;
}

/** Identity of a client or address of a server. */
export interface Subject {
  readonly name: string;
  /** A group of Kubernetes. */
  readonly organization?: string;
  readonly addresses?: readonly string[];
}

/** Signs the certificates of kubelets and of their clients. */
export interface Authority {
  /** PEM file. */
  readonly file: string;
  issue(file: string, subject: Subject): Promise<CertificateFiles>;
}

/** Directory of its files, which only a test cluster with real nodes has. */
export const authorityOf = (runDirectory: string): string => join(runDirectory, 'authority');

export async function createAuthority(runDirectory: string): Promise<Authority> {
  const directory = authorityOf(runDirectory);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const own = await generate([{ name: 'commonName', value: 'kcover-testbed' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  });
  const file = join(directory, 'ca.crt');
  writeFileSync(file, own.cert);
  return {
    file,
    issue: async (name, { name: commonName, organization, addresses = [] }) => {
      const subject = [
        ...(organization === undefined ? [] : [{ name: 'organizationName', value: organization }]),
        { name: 'commonName', value: commonName },
      ];
      const { cert, private: key } = await generate(subject, {
        keyType: 'ec',
        algorithm: 'sha256',
        ca: { key: own.private, cert: own.cert },
        extensions: [
          { name: 'basicConstraints', cA: false, critical: true },
          { name: 'keyUsage', digitalSignature: true, critical: true },
          { name: 'extKeyUsage', serverAuth: true, clientAuth: true },
          { name: 'subjectAltName', altNames: addresses.map((ip) => ({ type: 7, ip })) },
        ],
      });
      const files = { certificate: join(directory, `${name}.crt`), key: join(directory, `${name}.key`) };
      writeFileSync(files.certificate, cert);
      writeFileSync(files.key, key, { mode: 0o600 });
      return files;
    },
  };
}
