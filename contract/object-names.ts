/**
 * Valid names and UIDs of Kubernetes objects. The API server checks neither in an owner reference, so a value from one, or from a label,
 * is checked before it becomes part of a path, a query or a workflow id.
 */

import { KcoverError } from './errors.ts';

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const subdomain = new RegExp(`^${label}(\\.${label})*$`);
const uidPattern = /^[\w-]{1,64}$/;

/** A DNS-1123 subdomain, as names of jobs, pods, nodes and namespaces are. */
export const isObjectName = (text: string): boolean => text.length <= 253 && subdomain.test(text);

export const isObjectUid = (text: unknown): text is string => typeof text === 'string' && uidPattern.test(text);

/** The same text. Throws `name.invalid` for what cannot be a name. */
export function objectName(text: string): string {
  if (isObjectName(text)) return text;
  throw new KcoverError('name.invalid', `${quote(text)} is no DNS subdomain, or too long`);
}

/** The same text. Throws `name.invalid` for what cannot be a UID. */
export function objectUid(text: string): string {
  if (isObjectUid(text)) return text;
  throw new KcoverError('name.invalid', `${quote(text)} is no UID`);
}

/** Untrusted text, quoted for a message. */
const quote = (text: string): string => JSON.stringify(text.slice(0, 80));
