import { stripTypeScriptTypes } from 'node:module';

/** Jest transform: the same type stripping as in Node itself; positions stay, so no source map is needed. */
export default {
  process: (source) => ({ code: stripTypeScriptTypes(source, { mode: 'strip' }) }),
};
