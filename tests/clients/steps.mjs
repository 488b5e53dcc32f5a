// What a client does with a server, step by step as the plan says. Every kind of step is a function here;
// the report has an entry for each step.

const PATIENCE_MS = 50_000;

// `kit` is an SDK's client: `client`, `callTool(params, options)`, `onUpdated(tell)`, `watch(uri)`.
export async function drive(kit, plan) {
  const kept = {};
  const report = [];
  for (const step of plan.steps) {
    try {
      report.push(await KINDS[step.do](kit, filledIn(step, kept), kept));
    } catch (error) {
      report.push({ error: String(error) });
    }
  }
  return report;
}

// `$name` stands for what an earlier step kept by that name.
function filledIn(step, kept) {
  let text = JSON.stringify(step);
  for (const [name, value] of Object.entries(kept)) {
    text = text.replaceAll(`$${name}`, value);
  }
  return JSON.parse(text);
}

const KINDS = {
  tools: async ({ client }) => client.listTools(),

  call: async (kit, { tool, arguments: args, keep = {} }, kept) => {
    let progress = 0;
    const began = performance.now();
    const result = await kit.callTool({ name: tool, arguments: args }, { onprogress: () => progress++ });
    const ms = performance.now() - began;
    for (const [name, path] of Object.entries(keep)) {
      kept[name] = path.split('.').reduce((value, field) => value[field], result.structuredContent);
    }
    return { result, progress, ms };
  },

  // Takes the call back as soon as something is told of it.
  cancel: async (kit, { tool, arguments: args }) => {
    const abort = new AbortController();
    const options = { signal: abort.signal, onprogress: () => abort.abort('changed my mind') };
    try {
      return { result: await kit.callTool({ name: tool, arguments: args }, options) };
    } catch (error) {
      return { cancelled: abort.signal.aborted, said: String(error) };
    }
  },

  run_to_end: async (kit, { run, wait }) => {
    const states = [];
    let longest = 0;
    let ended = false;
    while (!ended) {
      const began = performance.now();
      const result = await kit.callTool({ name: 'run_wait', arguments: { run_id: run, wait } }, {});
      longest = Math.max(longest, performance.now() - began);
      if (result.isError) return { error: result.content[0].text };
      states.push(result.structuredContent.state);
      ended = !['queued', 'preparing', 'running'].includes(states.at(-1));
    }
    return { states, longest };
  },

  resources: async ({ client }) => ({
    ...(await client.listResources()),
    ...(await client.listResourceTemplates()),
  }),

  read: async ({ client }, { uri }) => client.readResource({ uri }),

  // Subscribes, makes something happen, and waits to be told.
  watch: async (kit, { uri, tool, arguments: args }) => {
    let unwatch = async () => {};
    const told = new Promise((resolve, reject) => {
      kit.onUpdated((updated) => updated === uri && resolve(true));
      setTimeout(() => reject(new Error('nothing was told')), PATIENCE_MS).unref();
    });
    told.catch(() => {});
    try {
      unwatch = await kit.watch(uri);
      await kit.callTool({ name: tool, arguments: args }, {});
      return { updated: await told };
    } finally {
      await unwatch();
    }
  },

  prompts: async ({ client }) => client.listPrompts(),

  prompt: async ({ client }, { name, arguments: args }) => client.getPrompt({ name, arguments: args }),
};
