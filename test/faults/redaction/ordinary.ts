/** Lines that trainers, launchers, drivers and libraries print every day. None holds a secret. */

const sha = '9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c';

const megatron = [
  ' [2026-11-21 07:09:03] iteration      120/  500000 | consumed samples:       122880 | elapsed time per iteration (ms): 12345.6 | learning rate: 1.500E-04 | global batch size:  1024 | lm loss: 2.313512E+00 | loss scale: 1.0 | grad norm: 0.812 | number of skipped iterations:   0 | number of nan iterations:   0 |',
  'using world size: 1024, data-parallel size: 16, context-parallel size: 1, tensor-model-parallel size: 8, pipeline-model-parallel size: 8',
  '  tokenizer_type .................................. Llama2Tokenizer',
  '  attention_softmax_in_fp32 ....................... False',
  '  kv_channels ..................................... 128',
  '  vocab_extra_ids ................................. 0',
  '  make_vocab_size_divisible_by .................... 128',
  ' > padded vocab (size: 50257) with 47 dummy tokens (new size: 50304)',
  ' > building GPT2BPETokenizer tokenizer ...',
  'setting random seeds to 1234 ...',
  '[Rank 0] (after 10 iterations) memory (MB) | allocated: 34567.1 | max allocated: 45678.2 | reserved: 50000.0',
  'time (ms) | forward-backward: 10234.51 | backward-params-all-reduce: 12.34 | optimizer: 45.67',
  'saving checkpoint at iteration   10000 to /checkpoints/llm in torch_dist format',
  '> number of parameters on (tensor, pipeline) model parallel rank (0, 0): 1234567890',
  'rank 3: forward pass: 12.3 ms, backward pass = 24.6 ms',
  'throughput per GPU (TFLOP/s/GPU): 412.3 | tokens per second: 1048576',
];

const nemo = [
  '[NeMo I 2026-11-21 07:09:03 nlp_overrides:1234] Model Parallel: tensor_model_parallel_size=8',
  '[NeMo W 2026-11-21 07:09:03 tokenizer_utils:78] Special token pad_token=<pad> is not in the vocabulary',
  'Epoch 0: :  12%|█▏        | 120/1000 [12:34<1:23:45, v_num=0, reduced_train_loss=2.310, global_step=120.0, consumed_samples=122880.0, train_step_timing in s=5.71]',
  'global_batch_size=1024 micro_batch_size=2 num_tokens=4096 seq_length=8192',
  'HINT: key_value_channels=128 head_dim=128 num_query_groups=8',
];

const deepspeed = [
  '[2026-11-21 07:09:03,117] [INFO] [logging.py:96:log_dist] [Rank 0] step=120, skipped=0, lr=[0.00015], mom=[(0.9, 0.95)]',
  '[2026-11-21 07:09:03,117] [INFO] [config.py:1001:print]   zero_allow_untested_optimizer .. False',
  '[2026-11-21 07:09:03,117] [INFO] [timer.py:215:stop] epoch=0/micro_step=120/global_step=120, RunningAvgSamplesPerSec=12.3, CurrSamplesPerSec=12.4, MemAllocated=34.5GB, MaxMemAllocated=45.6GB',
  '[2026-11-21 07:09:03,117] [INFO] [comm.py:637:init_distributed] cdb=None',
  'Loading extension module cpu_adam... Time to load cpu_adam op: 2.31 seconds',
  'Detected CUDA files, patching ldflags; Emitting ninja build file ~/.cache/torch_extensions/py310_cu121/fused_adam/build.ninja...',
];

const huggingFace = [
  "{'loss': 2.3135, 'grad_norm': 0.8125, 'learning_rate': 1.5e-05, 'epoch': 0.12, 'num_input_tokens_seen': 1048576}",
  ' 12%|█▏        | 120/1000 [12:34<1:23:45,  5.71s/it]',
  'Setting `pad_token_id` to `eos_token_id`:2 for open-end generation.',
  'pad token: <pad>',
  'pad_token: <pad> eos_token="<|endoftext|>" bos_token_id=1 token=12345678',
  "GPT2TokenizerFast(name_or_path='gpt2', vocab_size=50257, special_tokens={'bos_token': '<|endoftext|>', 'unk_token': '<unk>', 'pad_token': '[PAD]'})",
  `	0: AddedToken("<unk>", rstrip=False, lstrip=False, single_word=False, normalized=False, special=True),`,
  'pad_token=AddedToken("<|finetune_right_pad_id|>", rstrip=False)',
  "special_tokens: ['bos_token', 'eos_token', 'pad_token']",
  "dict_keys(['token', 'label_ids', 'attention_mask'])",
  'Token indices sequence length is longer than the specified maximum sequence length for this model (9000 > 8192).',
  'use_auth_token=None, trust_remote_code=True, token=None, revision=main',
  'unknown token: understanding',
  "next token: 'Ġinternational'",
  'tokenizer: meta/llama --tokenizer meta/llama --token-count 5',
  'Some weights of the model were not used: lm_head.weight',
  'Loading checkpoint shards: 100%|██████████| 30/30 [01:23<00:00,  2.77s/it]',
  `Resolved revision ${sha} of model meta-llama/Llama-3.1-405B`,
  'Model config LlamaConfig {"attention_bias": false, "hidden_size": 16384, "num_key_value_heads": 8, "tie_word_embeddings": false}',
  'Map (num_proc=64):  45%|████▌     | 450000/1000000 [01:12<01:28, 6213.45 examples/s]',
  'per_token_loss=2.31 token_accuracy=0.512 mean_token_accuracy: 0.51',
];

const torch = [
  '[rank0]:[titan] 2026-11-21 07:09:03,117 - root - INFO - step: 120  loss:  2.3135  memory: 61.23GiB(77.1%)  tps: 1,234  mfu: 41.23%',
  "[titan] 2026-11-21 07:09:03,117 - root - INFO - Building 2-D device mesh with ['dp_shard', 'tp'], [8, 8]",
  'W1121 07:09:03.117000 1234 torch/distributed/run.py:793] Setting OMP_NUM_THREADS environment variable for each process to be 1 in default',
  '[E1121 07:09:03.117000 1234 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -9) local_rank: 3 (pid: 12345) of binary: /usr/bin/python',
  'torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ',
  '  error_file: /tmp/torchelastic_abcd1234/none_xyz/attempt_0/3/error.json',
  '[rank3]: RuntimeError: CUDA error: an illegal memory access was encountered',
  '[rank3]:[E1121 07:09:03.117 ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=123, OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, Timeout(ms)=600000) ran for 600025 milliseconds before timing out.',
  'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.23 GiB is free.',
  'rdzv_backend=c10d, rdzv_endpoint=llm-master-0:29500, rdzv_id=llm, master_addr=llm-master-0 master_port=29500',
  "store_key: 'worker/3/rendezvous' waiting for key: default_pg/0//cuda//0",
  '[PG ID 0 PG GUID 0(default_pg) Rank 3] first PG on this rank to detect no heartbeat, key=0',
  `[inductor] cache key f${sha.slice(1)}: miss`,
  `triton cache key: ${sha}${sha.slice(0, 24)} hit`,
  'FlashAttention: key_size=(8, 128, 4096), query_size=(8, 128, 4096), value_size=(8, 128, 4096)',
  'mask_mod signature: (b, h, q_idx, kv_idx) -> bool',
  'inferred signature: forward(self, input_ids: Tensor, labels: Optional[Tensor] = None) -> Tensor',
  "KeyError: 'model.layers.12.self_attn.k_proj.weight'",
  'state_dict keys: 1234 missing, 0 unexpected; Missing key(s) in state_dict: "lm_head.weight"',
  'forward_pass: 0.123, backward_pass: 0.456, num_pass=3, first_pass=done',
  'compile pass: fuse_matmul_bias took 12.3s',
  'NumPy pass=True all tests pass: ok',
];

const nccl = [
  'llm-worker-3:1234:5678 [3] NCCL INFO Bootstrap : Using eth0:10.0.0.3<0>',
  'llm-worker-3:1234:5678 [3] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.3<0>',
  'llm-worker-3:1234:5678 [3] NCCL INFO comm 0x55d0c0de rank 3 nranks 1024 cudaDev 3 nvmlDev 3 busId 5d000 commId 0x9f8e7d6c5b4a3928 - Init START',
  'llm-worker-3:1234:5678 [3] NCCL INFO ncclCommSplit comm 0x55d0c0de rank 3 color 0 key 3 - Init COMPLETE',
  'llm-worker-3:1234:5678 [3] NCCL INFO Channel 00/08 :    0   1   2   3',
  'llm-worker-3:1234:5678 [3] NCCL INFO NCCL_IB_HCA set by environment to mlx5',
  'llm-worker-3:1234:5678 [3] NCCL INFO shm key 0x7f8e9d0c hostHash 0x9f8e7d6c5b4a3928 pidHash 0x1a2b3c4d',
  'NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out',
  'NCCL INFO NVLS multicast support is available on dev 0, NVLS_NCHANNELS 16, mkey: 0x1234 lkey=0x5678 rkey=0x9abc',
  'misc/ibvwrap.cc:252 NCCL WARN Call to ibv_reg_mr failed',
];

const cluster = [
  'NVRM: Xid (PCI:0000:5d:00): 79, pid=1234, name=python, GPU has fallen off the bus.',
  'Warning: NodeNotReady kubelet stopped posting node status.',
  'Error: ImagePullBackOff registry.example/team/llm:1.2.3@sha256:' + sha + sha.slice(0, 24),
  'Mounted secret volume team-credentials at /etc/team',
  'GOOGLE_APPLICATION_CREDENTIALS=/etc/team/key.json',
  'PWD=/workspace/megatron OLDPWD=/root',
  'pwd: /workspace',
  'container llm ended with exit code 137 (signal 9): OOMKilled',
  '0/64 nodes are available: 64 Insufficient nvidia.com/gpu.',
  'Successfully assigned train/llm-worker-3 to gpu-07',
  'srun: error: node gpu-07: task 3: Killed',
];

const other = [
  `commit ${sha}`,
  `git HEAD is now at ${sha.slice(0, 9)} Fix the token counter`,
  `md5: ${sha.slice(0, 32)}  shard-00012.tar`,
  `${sha}${sha.slice(0, 24)}  checkpoint.pt`,
  `checksum=${sha} etag="${sha.slice(0, 32)}" hash: 0x${sha.slice(0, 16)}`,
  'checkpoint at https://storage.example/run/12:30/step-100',
  'GET https://storage.example/run/part-0001?partNumber=3&uploadId=abc 200',
  'step key: 12 last step 11',
  'step 1200 loss 2.31 tokens: 1048576 tokens_per_second=123456.7 num_tokens = 4096',
  'tokens/s: 1,234,567 time per token: 0:00:12.345 ms/token=12.3ms token: 1024/4096',
  'wandb: Syncing run bright-sun-12',
  'wandb: 🚀 View run at https://wandb.ai/team/llm/runs/a1b2c3d4',
  'wandb: Currently logged in as: ada (team). Use `wandb login --relogin` to force relogin',
  'wandb: (1) Create a W&B account (2) Use an existing W&B account; enter your API key',
  'mlflow: run_id=9f8e7d6c5b4a39281706f5e4d3c2b1a0 experiment_id=12',
  'Using bearer authentication',
  'basic initialization done, auth: enabled, require_auth=false',
  'risk-adjusted disk-based task-0123456789abcdefghijkl',
  'python -u train.py --tokens:8 && docker run -u 1000:1000 --user 0:0 image',
  'pip -u https://host/simple',
  'npm http://localhost:4873/@scope/pkg and https://registry.example/@scope/pkg',
  '{"url":"https://host/a","mail":"ada@example.org"}',
  'password authentication failed for user ada',
  'Please change the password before the next login',
  'time_per_token=12.345ms/step num_token=4096.5k',
  'pad_token == 12345678 num_token==12345678',
  'uploaded 12 files to s3://bucket/run/step-1000 in 12.3s',
  'Traceback (most recent call last):',
  '  File "/opt/megatron/training.py", line 1234, in train_step',
];

export const ordinaryLines: readonly string[] = [...megatron, ...nemo, ...deepspeed, ...huggingFace, ...torch, ...nccl, ...cluster, ...other];
