/** Forms in which programs print secrets into logs. The secrets are assembled at run time, so that no scanner reports this file as a leak. */

const abc = 'Abc123xyZ9';
const lower = 'abcdefghij0123456789';
/** A word of this many characters after a prefix. */
export const word = (prefix: string, length: number, messages = abc): string =>
  prefix + messages.repeat(Math.ceil(length / messages.length)).slice(0, length);
const hex = (length: number) => word('', length, '0123456789abcdef');
const base64 = (text: string) => Buffer.from(text).toString('base64');
const fence = (side: string, kind = 'RSA ') => `-----${side} ${kind}PRIVATE KEY-----`;
const keyOf = (lines: number) =>
  Array.from({ length: lines }, (_, index) => word('MII', 61, `${String.fromCharCode(65 + index)}bq/+9Zk`));
const colour = (code: number, text: string) => `\u001B[${code}m${text}\u001B[0m`;

const s40 = word('', 40);
const secretValue = 'hunter2-and-more';
const jwt = [word('eyJ', 20), word('eyJ', 40), word('', 43)].join('.');

/** A form: its name, the lines of the log, and the texts that must be redacted. */
export type SecretCase = readonly [name: string, lines: readonly string[], secrets: readonly string[]];
const one = (name: string, line: string, ...secrets: string[]): SecretCase => [name, [line], secrets];

const cloud: readonly SecretCase[] = [
  one('AWS id in env', `AWS_ACCESS_KEY_ID=${word('AKIA', 16, 'ABCD1234')}`, word('AKIA', 16, 'ABCD1234')),
  one('AWS secret in env', `AWS_SECRET_ACCESS_KEY=${s40}`, s40),
  one('AWS secret in a file', `aws_secret_access_key = ${s40}`, s40),
  one('AWS secret that begins with a slash', `AWS_SECRET_ACCESS_KEY=/${s40}`, s40),
  one('AWS secret in a dict', `{'aws_access_key_id': 'x', 'aws_secret_access_key': '${s40}'}`, s40),
  one('AWS session token', `export AWS_SESSION_TOKEN="${word('FwoGZXIvYXdz', 200)}"`, word('FwoGZXIvYXdz', 200)),
  one('boto3 call', `session = boto3.Session(aws_secret_access_key='${s40}', region_name='eu-west-1')`, s40),
  one(
    'SAS signature',
    `https://acct.blob.core.windows.net/c/b?sv=2024-01-01&sr=b&sig=${word('', 40)}%3D`,
    word('', 40),
  ),
  one(
    'presigned S3 URL',
    `GET https://b.s3.amazonaws.com/k?X-Amz-Credential=a%2F20261121&X-Amz-Signature=${hex(64)}`,
    hex(64),
  ),
  one(
    'storage connection string',
    `DefaultEndpointsProtocol=https;AccountName=a;AccountKey=${word('', 86)}==;EndpointSuffix=core.windows.net`,
    word('', 86),
  ),
  one(
    'GCP service account in one line',
    `{"type": "service_account", "private_key": "${fence('BEGIN', '')}\\n${keyOf(1)[0]}\\n${fence('END', '')}\\n"}`,
    keyOf(1)[0] ?? '',
  ),
  one('GCP private_key_id', `  "private_key_id": "${hex(40)}",`, hex(40)),
  one('Google API key', `maps key ${word('AIza', 35)}`, word('AIza', 35)),
  one('Google OAuth token', `credentials.token = ya29.${word('a0Af', 60)}`, word('a0Af', 60)),
  one('Google client secret', `using GOCSPX-${word('', 28)} of the project`, word('', 28)),
  one('MinIO', `MINIO_SECRET_KEY=${secretValue}`, secretValue),
  one('S3 secret key', `S3_SECRET_KEY: "${s40}"`, s40),
  one('S3 answer in XML', `<Credentials><SecretAccessKey>${s40}</SecretAccessKey></Credentials>`, s40),
  one('Azure client secret', `AZURE_CLIENT_SECRET=${word('8Q~', 34)}`, word('8Q~', 34)),
];

const providers: readonly SecretCase[] = [
  one('GitHub classic', `remote: ${word('ghp_', 36)}`, word('ghp_', 36)),
  one('GitHub fine', `using ${word('github_pat_', 60)}`, word('github_pat_', 60)),
  one('GitHub in a URL', `git clone https://${word('ghs_', 36)}@github.com/a/b`, word('ghs_', 36)),
  one('GitHub in a URL with user', `https://x-access-token:${word('gho_', 36)}@github.com/a/b`, word('gho_', 36)),
  one('GitLab PAT', `PRIVATE-TOKEN ${word('glpat-', 20)}`, word('glpat-', 20)),
  one('GitLab runner', `registered with ${word('glrt-', 20)}`, word('glrt-', 20)),
  one('GitLab deploy', `deploy ${word('gldt-', 20)}`, word('gldt-', 20)),
  one('Hugging Face', `Token is valid: ${word('hf_', 34)}`, word('hf_', 34)),
  one('Hugging Face env', `HF_TOKEN=${word('hf_', 34)}`, word('hf_', 34)),
  one('OpenAI', `openai.api_key ${word('sk-proj-', 48)}`, word('sk-proj-', 48)),
  one('Anthropic', `${word('sk-ant-api03-', 80)} is refused`, word('sk-ant-api03-', 80)),
  one('NVIDIA', `NIM with ${word('nvapi-', 60)}`, word('nvapi-', 60)),
  one('NGC', `NGC_API_KEY=${word('', 84)}`, word('', 84)),
  one('W&B env', `WANDB_API_KEY=${hex(40)}`, hex(40)),
  one('W&B login', `+ wandb login ${hex(40)}`, hex(40)),
  one(
    'W&B login with a flag',
    `wandb login --relogin --host https://w ${hex(40)}`.replace(' --host https://w', ''),
    hex(40),
  ),
  one('W&B login in Python', `wandb.login(key="${hex(40)}")`, hex(40)),
  one('W&B local', `logged in with local-${hex(40)}`, hex(40)),
  one('Comet', `COMET_API_KEY=${word('', 25)}`, word('', 25)),
  one('Kaggle file', `{"username":"ada","key":"${hex(32)}"}`, hex(32)),
  one('Kaggle env', `KAGGLE_USERNAME=ada KAGGLE_KEY=${hex(32)}`, hex(32)),
  one('Slack', `slack ${word('xoxb-', 40)}`, word('xoxb-', 40)),
  one('Slack webhook', `POST https://hooks.slack.com/services/T000/B000/${word('', 24)} 200`, word('', 24)),
  one('Discord webhook', `https://discord.com/api/webhooks/123456789012345678/${word('', 68)}`, word('', 68)),
  one('Telegram bot', `https://api.telegram.org/bot123456789:AA${word('', 33)}/sendMessage`, word('', 33)),
  one('npm', `//registry.npmjs.org/:_authToken=${word('npm_', 36)}`, word('npm_', 36)),
  one('npm alone', `using ${word('npm_', 36)}`, word('npm_', 36)),
  one('PyPI', `twine upload as ${word('pypi-AgEI', 60)}`, word('pypi-AgEI', 60)),
  one('Docker Hub', `login with ${word('dckr_pat_', 27)}`, word('dckr_pat_', 27)),
  one(
    'Databricks',
    `host https://dbc token ${word('dapi', 32, '0123456789abcdef')}`,
    word('dapi', 32, '0123456789abcdef'),
  ),
  one('Vault', `VAULT ${word('hvs.', 90)}`, word('hvs.', 90)),
  one('Stripe', `charge with ${word('sk_live_', 24)}`, word('sk_live_', 24)),
  one('Replicate', `${word('r8_', 37)} ok`, word('r8_', 37)),
  one('SendGrid', `mail ${word('SG.', 22)}.${word('', 43)}`, word('SG.', 22)),
  one('Twilio', `sid ${word('SK', 32, '0123456789abcdef')}`, word('SK', 32, '0123456789abcdef')),
  one('age', word('AGE-SECRET-KEY-1', 58, 'QPZRY9X8'), word('AGE-SECRET-KEY-1', 58, 'QPZRY9X8')),
  one('Groq', `llm ${word('gsk_', 52)}`, word('gsk_', 52)),
];

const headers: readonly SecretCase[] = [
  one('Authorization: Bearer', `Authorization: Bearer ${s40}`, s40),
  one('Authorization: Basic', `> Authorization: Basic ${base64('ada:hunter2')}`, base64('ada:hunter2')),
  one('curl -H', `curl -H 'Authorization: token ${s40}' https://h`, s40),
  one(
    'aws4 header',
    `authorization: AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=host, Signature=${hex(64)}`,
    hex(64),
  ),
  one(
    'Python send dump',
    String.raw`send: b'POST /v1 HTTP/1.1\r\nHost: h\r\nAuthorization: Basic ${base64('ada:hunter2')}\r\nAccept: */*\r\n\r\n'`,
    base64('ada:hunter2'),
  ),
  one('Python send dump of a cookie', String.raw`send: b'GET / HTTP/1.1\r\nCookie: session=${s40}\r\n\r\n'`, s40),
  one(
    'Python send dump of a header of its own',
    String.raw`send: b'GET / HTTP/1.1\r\nX-Api-Key: ${s40}\r\nHost: h\r\n\r\n'`,
    s40,
  ),
  one('headers as pairs', `[('Host', 'h'), ('Authorization', 'Bearer ${s40}')]`, s40),
  one('headers as pairs of bytes', `[(b'host', b'h'), (b'authorization', b'Bearer ${s40}')]`, s40),
  one('headers as a dict', `{'Accept': '*/*', 'Authorization': 'Bearer ${s40}'}`, s40),
  one('x-api-key', `x-api-key: ${s40}`, s40),
  one('X-Auth-Token', `X-Auth-Token: ${s40}`, s40),
  one('Proxy-Authorization', `Proxy-Authorization: Basic ${base64('ada:hunter2')}`, base64('ada:hunter2')),
  one('cookies', `Set-Cookie: sid=${s40}; Path=/`, s40),
  one('bearer alone', `sent bearer ${s40}`, s40),
  one('basic alone', `with Basic ${base64('ada:hunter2!')}`, base64('ada:hunter2!')),
  one('JWT', `got ${jwt}`, jwt),
  one('JWT in JSON', `{"id_token":"${jwt}"}`, jwt),
  one('query key', `GET /v1/models?key=${s40}&alt=json`, s40),
  one('query code', `callback?state=1&code=${s40}`, s40),
  one('query access_token', `GET /me?access_token=${s40}&x=1`, s40),
];

const urls: readonly SecretCase[] = [
  one('redis', `redis://:hunter2@10.0.0.1:6379/0`, 'hunter2'),
  one('postgres', `postgresql+psycopg://ada:hun%40ter2@db:5432/x`, 'hun%40ter2'),
  one('password with @', `amqp://ada:hun@ter2@mq:5672`, 'hun@ter2'),
  one('token as user', `https://oauth2:${s40}@gitlab.example/a.git`, s40),
  one('proxy', `HTTPS_PROXY=http://ada:hunter2@proxy:3128`, 'hunter2'),
  one('libpq', `host=db user=ada password=hunter2 dbname=x`, 'hunter2'),
  one('PGPASSWORD', `PGPASSWORD=hunter2 psql`, 'hunter2'),
];

const named: readonly SecretCase[] = [
  one('SECRET_KEY', `SECRET_KEY=${secretValue}`, secretValue),
  one('Django', `SECRET_KEY = 'django-insecure-${s40}'`, s40),
  one('SIGNING_KEY', `SIGNING_KEY: ${s40}`, s40),
  one('auth_key', `auth_key=${s40}`, s40),
  one('master key in words', `master key: ${s40}`, s40),
  one('storage key', `storage_key: "${word('', 86)}=="`, word('', 86)),
  one(
    'session key in hexadecimal digits',
    `NCCL INFO session key: ${word('', 64, '0123456789abcdef')}`,
    word('', 64, '0123456789abcdef'),
  ),
  one('API key in words', `using api key: ${s40} of ada`, s40),
  one('access key in words and quotes', `access key = "${s40}"`, s40),
  one('curl --user with letters only', `+ curl -s --user ada:correcthorse https://h`, 'correcthorse'),
  one('user of another program', `mc -u ada:${secretValue} https://h`, secretValue),
  one('master key', `MASTER_KEY=${s40}`, s40),
  one('hex key', `ENCRYPTION_KEY=${hex(64)}`, hex(64)),
  one('DB_PASS', `DB_PASS=${secretValue}`, secretValue),
  one('DB_PASS in YAML', `  db_pass: "${secretValue}"`, secretValue),
  one('pass in YAML', `  pass: ${secretValue}`, secretValue),
  one('pass in a dict', `{'user': 'ada', 'pass': '${secretValue}'}`, secretValue),
  one('pass as an argument', `connect(user='ada', pass='${secretValue}')`, secretValue),
  one('pass behind a user', `user=ada pass=${secretValue}`, secretValue),
  one('REDIS_AUTH', `REDIS_AUTH=${secretValue}`, secretValue),
  one('--pass', `+ mc alias set --pass ${secretValue}`, secretValue),
  one('--pass=', `mc alias set --pass=${secretValue}`, secretValue),
  one('YAML', `  password: ${secretValue}`, secretValue),
  one('JSON', `{"password":"${secretValue}","lr":0.1}`, secretValue),
  one('JSON in JSON', String.raw`{"msg":"{\"api_key\":\"${secretValue}\",\"lr\":1}"}`, secretValue),
  one(
    'JSON in JSON in JSON',
    String.raw`{"m":"{\"n\":\"{\\\"client_secret\\\":\\\"${secretValue}\\\"}\"}"}`,
    secretValue,
  ),
  one('Python repr', `Config(api_key='${secretValue}', lr=0.1)`, secretValue),
  one('Python bytes', `Config(password=b'${secretValue}', lr=0.1)`, secretValue),
  one('SecretStr', `Settings(password=SecretStr('${secretValue}'), lr=0.1)`, secretValue),
  one('SecretStr with a name', `api_key=Secret(value='${secretValue}')`, secretValue),
  one('Rust Some', `Config { token: Some("${s40}"), lr: 0.1 }`, s40),
  one('Go struct', `{Host:db Password:${secretValue} Port:5432}`, secretValue),
  one('env dump', `environ({'HOME': '/root', 'MY_SECRET': '${secretValue}', 'PATH': '/bin'})`, secretValue),
  one('docker inspect', `"Env": ["PATH=/bin", "DB_PASSWORD=${secretValue}"]`, secretValue),
  one(
    'kubeadm',
    `kubeadm join 10.0.0.1:6443 --token abcdef.${word('', 16, lower)} --discovery-token-ca-cert-hash sha256:x`,
    word('', 16, lower),
  ),
  one('--api-key', `train --api-key ${secretValue}`, secretValue),
  one('--api-key=', `train --api-key=${secretValue}`, secretValue),
  one('list of arguments', `['train.py', '--hf-token', '${s40}', '--lr', '1']`, s40),
  one('curl -u', `curl -u ada:${secretValue} https://h`, secretValue),
  one('sshpass', `sshpass -p ${secretValue} ssh node`, secretValue),
  one('docker login -p', `docker login -u ada -p ${secretValue} registry.example`, secretValue),
  one('XML', `<settings><password>${secretValue}</password></settings>`, secretValue),
  one('SQL', `CREATE ROLE ada WITH LOGIN PASSWORD '${secretValue}'`, secretValue),
  one('URL-encoded', `body: user%3Dada%26password%3D${secretValue}`, secretValue),
  one('TOML', `token = "${s40}"`, s40),
  one('ini without blanks', `client_secret=${secretValue};x=1`, secretValue),
  one('pass of bytes', `{'pass': b'${secretValue}'}`, secretValue),
  one('Spark', `spark.hadoop.fs.s3a.secret.key=${s40}`, s40),
  one('Hadoop on Azure', `fs.azure.account.key.acct.blob.core.windows.net=${s40}`, s40),
  one('aws configure', `aws configure set aws_secret_access_key ${s40}`, s40),
  one('os.environ', `os.environ['HF_TOKEN'] = '${s40}'`, s40),
  one('an arrow', `API_KEY -> ${s40}`, s40),
  one('another key as a flag', `--wandb-key=${s40}`, s40),
  one('another key behind a flag', `--wandb-key ${s40}`, s40),
  one('Secret alone', `[Secret("${secretValue}")]`, secretValue),
  one('appSettings', `<add key="Password" value="${secretValue}"/>`, secretValue),
  one('RunPod', `with ${word('rpa_', 42, 'AB3')}`, word('rpa_', 42, 'AB3')),
  one('header of Azure', `Ocp-Apim-Subscription-Key: ${s40}`, s40),
  one('NCCL plugin env', `FOO_LICENSE_KEY=${secretValue}`, secretValue),
];

const pairs: readonly SecretCase[] = [
  one('k8s env in JSON', `{"name":"DB_PASSWORD","value":"${secretValue}"}`, secretValue),
  one('k8s env in JSON with blanks', `{ "name": "X_TOKEN", "value": "${secretValue}" },`, secretValue),
  one('k8s env of Go', `{Name:DB_PASSWORD Value:${secretValue} ValueFrom:nil}`, secretValue),
  one('k8s env of Python', `V1EnvVar(name='WANDB_API_KEY', value='${secretValue}')`, secretValue),
  one('k8s env as a dict', `{'name': 'MY_SECRET_KEY', 'value': '${secretValue}', 'value_from': None}`, secretValue),
  ['k8s env in YAML', ['- name: X_TOKEN', `  value: ${secretValue}`], [secretValue]],
  [
    'k8s env in YAML with times',
    ['2026-11-21T07:09:03.117Z - name: DB_PASSWORD', `2026-11-21T07:09:03.118Z   value: "${secretValue}"`],
    [secretValue],
  ],
  one('tuple', `env: ('MY_PASSWORD', '${secretValue}')`, secretValue),
  one('tuple of a list', `[('PATH', '/bin'), ('HF_TOKEN', '${s40}')]`, s40),
  one('netrc in one line', `machine api.wandb.ai login user password ${hex(40)}`, hex(40)),
  one('netrc password alone', `  password ${hex(40)}`, hex(40)),
  one('netrc without digits', `machine h login ada password correcthorse`, 'correcthorse'),
  one(
    'docker config',
    `{"auths":{"nvcr.io":{"auth":"${base64('$oauthtoken:abcdefgh1')}"}}}`,
    base64('$oauthtoken:abcdefgh1'),
  ),
  one(
    'docker config in JSON',
    String.raw`{\"auths\":{\"nvcr.io\":{\"auth\":\"${base64('$oauthtoken:abcdefgh1')}\"}}}`,
    base64('$oauthtoken:abcdefgh1'),
  ),
  one('docker identity token', `"identitytoken": "${s40}"`, s40),
  one('kubeconfig key', `    client-key-data: ${base64(fence('BEGIN'))}${s40}`, s40),
  one('kubeconfig key, PKCS 8, without its name', `data ${base64(`${fence('BEGIN', '')}\nMIIE`)}${s40}`, s40),
  one('kubeconfig token', `    token: ${jwt}`, jwt),
  one('kubeconfig password', `    password: ${secretValue}`, secretValue),
  ['value on the next line', ['password=', secretValue], [secretValue]],
  ['value on the next line of a pretty print', ["  'api_key':", `    '${secretValue}',`], [secretValue]],
  ['YAML block', ['  client_secret: |', `    ${secretValue}`], [secretValue]],
  [
    'YAML block with times',
    ['2026-11-21T07:09:03Z secret_key: >-', `2026-11-21T07:09:03Z   ${secretValue}`],
    [secretValue],
  ],
];

const colours: readonly SecretCase[] = [
  one('structlog', `${colour(2, '2026-11-21')} ${colour(36, 'api_key')}=${colour(35, secretValue)}`, secretValue),
  one(
    'loguru',
    `${colour(32, '2026-11-21 07:09')} | ${colour(1, 'INFO')} | password: ${colour(33, secretValue)}`,
    secretValue,
  ),
  one('rich', `${colour(33, 'token')}=${colour(32, `'${s40}'`)}`, s40),
  one('rich with a link', `\u001B]8;;https://x\u001B\\secret\u001B]8;;\u001B\\=${secretValue}`, secretValue),
  one('colours within the value', `password=hun${colour(31, 'ter2-and-more')}`, 'ter2-and-more'),
  one(
    'colours in JSON',
    String.raw`{"log":"\u001b[36mapi_key\u001b[0m=\u001b[35m${secretValue}\u001b[0m"}`,
    secretValue,
  ),
  one('colours in Python', String.raw`'\x1b[36mpassword\x1b[0m=\x1b[35m${secretValue}\x1b[0m'`, secretValue),
];

const key = keyOf(3);
const stamp = (line: string, index: number) => `2026-11-21T07:09:0${index % 10}.11${index}Z ${line}`;
const keys: readonly SecretCase[] = [
  ['PEM', [fence('BEGIN'), ...key, fence('END')], key],
  ['PEM with times', [fence('BEGIN'), ...key, 'abc123==', fence('END')].map(stamp), [...key, 'abc123==']],
  ['PEM with ranks', [fence('BEGIN'), ...key, fence('END')].map((line) => `[rank3]: ${line}`), key],
  ['PEM with a short last line', [fence('BEGIN'), ...key, 'Qw==', fence('END')], [...key, 'Qw==']],
  [
    'PEM with lines of another rank',
    [
      fence('BEGIN'),
      key[0] ?? '',
      '[rank1] step 12 loss 2.3',
      key[1] ?? '',
      'NCCL INFO ring 0',
      key[2] ?? '',
      'Qw==',
      fence('END'),
    ],
    [...key, 'Qw=='],
  ],
  [
    'PEM with lines of another rank and no end',
    [fence('BEGIN'), key[0] ?? '', '[rank1] step 12 loss 2.3', ...key.slice(1)],
    key,
  ],
  ['PEM without its begin', [...key, 'Qw==', fence('END')], [...key, 'Qw==']],
  [
    'two PEMs at once',
    [
      `[rank0] ${fence('BEGIN')}`,
      `[rank1] ${fence('BEGIN')}`,
      ...key.flatMap((line) => [`[rank0] ${line}`, `[rank1] ${line}`]),
      `[rank0] ${fence('END')}`,
      '[rank1] Qw==',
      `[rank1] ${fence('END')}`,
    ],
    [...key, 'Qw=='],
  ],
  ['OpenSSH', [fence('BEGIN', 'OPENSSH '), ...key, fence('END', 'OPENSSH ')], key],
  one('PEM in a string', `key="${fence('BEGIN')}\\n${key.join('\\n')}\\n${fence('END')}"`, ...key),
  one('PEM in Python bytes', `b'${fence('BEGIN')}\\n${key.join('\\n')}'`, ...key),
];

export const shapes: readonly SecretCase[] = [
  ...cloud,
  ...providers,
  ...headers,
  ...urls,
  ...named,
  ...pairs,
  ...colours,
  ...keys,
];
