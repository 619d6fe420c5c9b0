/** Keys that are recognised by their form. */

import { patternOf, type RedactionPattern } from './pattern.ts';

export const privateKey: RedactionPattern = patternOf(
  'private-key',
  [
    '-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY.*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)',
    // The same in base64, as kubeconfigs and Secrets hold it: RSA, EC, PKCS 8, encrypted, OpenSSH.
    String.raw`\bLS0tLS1CRUdJTi(?:BSU0EgUFJJVk|BFQyBQUklWQV|BQUklWQVRF|BFTkNSWVBU|BPUEVOU1NI)[\w+/=]*`,
    String.raw`\bAGE-SECRET-KEY-1[A-Z0-9]{20,}`,
  ].join('|'),
  'g',
);

/** JSON Web Tokens. The lookahead skips words without three parts as a whole, which keeps the search linear. */
export const jsonWebToken: RedactionPattern = patternOf(
  'jwt',
  String.raw`(?<![\w-])(?=[\w-]{11,}\.[\w-]{8,}\.)(?<kept>[\w-]*?)\beyJ[\w-]*\.[\w-]*\.[\w-]*`,
  'g',
);

export const awsKey: RedactionPattern = patternOf('aws-key', String.raw`\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b`, 'g');
