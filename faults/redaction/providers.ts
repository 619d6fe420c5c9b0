/** Tokens with a provider's prefix. Sources: the providers' own pages, and the rules of gitleaks and trufflehog. */

import { patternOf, type RedactionPattern } from './pattern.ts';

/** One expression for each provider, or several. */
const tokens: Readonly<Record<string, readonly string[]>> = {
  GitHub: [String.raw`gh[opusr]_\w{20,}`, String.raw`github_pat_\w{20,}`],
  GitLab: [String.raw`gl(?:pat|rt|dt|cbt|ptt|ft|imt|agent|soat)-[\w-]{20,}`],
  'Hugging Face': ['hf_[A-Za-z0-9]{20,}', 'api_org_[A-Za-z0-9]{20,}'],
  'OpenAI, Anthropic, OpenRouter': [String.raw`sk-[\w-]{20,}`],
  'NVIDIA NGC': [String.raw`nvapi-[\w-]{20,}`],
  'Weights & Biases': ['local-[0-9a-f]{40}', String.raw`wandb_v1_\w{20,}`],
  Replicate: ['r8_[A-Za-z0-9]{30,}'],
  RunPod: ['rpa_[A-Z0-9]{30,}'],
  Groq: ['gsk_[A-Za-z0-9]{30,}'],
  'Together AI': [String.raw`tgp_v1_[\w-]{20,}`],
  Slack: [String.raw`xox[a-z]-[\w-]{10,}`, String.raw`xapp-[\w-]{10,}`],
  Google: [String.raw`AIza[\w-]{35}`, String.raw`ya29\.[\w-]{20,}`, String.raw`GOCSPX-[\w-]{20,}`],
  npm: ['npm_[A-Za-z0-9]{30,}'],
  PyPI: [String.raw`pypi-[\w-]{30,}`],
  Docker: [String.raw`dckr_[po]at_[\w-]{20,}`],
  Databricks: ['dapi[0-9a-f]{32}'],
  Vault: [String.raw`hv[sbr]\.[\w-]{20,}`],
  Stripe: ['[rs]k_(?:live|test)_[A-Za-z0-9]{16,}'],
  SendGrid: [String.raw`SG\.[\w-]{16,}\.[\w-]{16,}`],
  Twilio: [String.raw`SK[0-9a-f]{32}\b`],
  Grafana: [String.raw`glsa_\w{20,}`],
  DigitalOcean: ['do[opr]_v1_[0-9a-f]{40,}'],
  Atlassian: [String.raw`ATATT3[\w-]{20,}`],
};

export const providerToken: RedactionPattern = patternOf(
  'provider-token',
  String.raw`\b(?:${Object.values(tokens).flat().join('|')})`,
  'g',
);

/** The URL of a webhook is a secret, as anyone who has it can post; that of a Telegram bot contains its token. */
export const webhook: RedactionPattern = patternOf(
  'webhook',
  String.raw`(?<kept>\bhooks\.slack\.com\/(?:services|workflows|triggers)\/|\bdiscord(?:app)?\.com\/api\/webhooks\/\d{1,24}\/|\bwebhook\.office\.com\/webhookb2\/)[^\s"'<>\\]+|(?<=\bbot|\b)\d{6,12}:AA[\w-]{30,}`,
);
