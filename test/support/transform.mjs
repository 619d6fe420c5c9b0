import { stripTypeScriptTypes } from 'node:module';

/** Jest transform: the same type stripping that Node itself does; positions stay, so no source map is needed. */
export default {
  process: (source) => ({ code: stripTypeScriptTypes(source, { mode: 'strip' }) }),
};
