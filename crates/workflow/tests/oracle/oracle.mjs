// Answers what GitHub's own packages make of expressions and workflow files. Each line of standard input is a request as
// JSON, each line of standard output its answer, in the same order. The argument is the directory that has the packages.
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

// The packages import JSON without saying so, which bundlers allow and Node does not.
registerHooks({
    load(url, context, next) {
        const attributes = url.endsWith(".json") ? { importAttributes: { type: "json" } } : {};
        return next(url, { ...context, ...attributes });
    },
});

const load = (name) => import(pathToFileURL(join(process.argv[2], "@actions", name)));
const { Lexer, Parser, Evaluator, FeatureFlags, data } = await load("expressions/dist/index.js");
const { reviver } = await load("expressions/dist/data/reviver.js");
const { ErrorType } = await load("expressions/dist/errors.js");
const { parseWorkflow, convertWorkflowTemplate, NoOperationTraceWriter } = await load("workflow-parser/dist/index.js");
const { TemplateContext, TemplateValidationErrors } = await load("workflow-parser/dist/templates/template-context.js");
const { getWorkflowSchema } = await load("workflow-parser/dist/workflows/workflow-schema.js");

// Numbers as texts: JSON has neither NaN nor Infinity. Objects as lists: their order counts.
function plain(value) {
    switch (value?.kind) {
        case undefined:
        case data.Kind.Null:
            return null;
        case data.Kind.Boolean:
            return value.value;
        case data.Kind.Number:
            return { number: String(value.value) };
        case data.Kind.String:
            return { text: value.value.toWellFormed() };
        case data.Kind.Array:
            return { list: value.values().map(plain) };
        default:
            return { object: value.pairs().map((pair) => [pair.key, plain(pair.value)]) };
    }
}

const classes = {
    [ErrorType.ErrorUnrecognizedContext]: "context",
    [ErrorType.ErrorExceededMaxDepth]: "depth",
    [ErrorType.ErrorTooFewParameters]: "arity",
    [ErrorType.ErrorTooManyParameters]: "arity",
    [ErrorType.ErrorEvenParameters]: "arity",
    [ErrorType.ErrorUnrecognizedFunction]: "function",
};

function classOf(error) {
    if (error.message.startsWith("could not evaluate index")) return classOf(error.cause);
    if (error.typ !== undefined) return classes[error.typ] ?? "syntax";
    if (error.message.startsWith("Unexpected symbol")) return "syntax";
    if (error.message === "ErrorExceededMaxLength") return "length";
    if (error.message.startsWith("case predicate")) return "case";
    if (error.message.includes("format string")) return "format";
    if (error.message === "empty input" || error.message.includes("fromJson")) return "json";
    return `unknown: ${error.message}`;
}

let known;
function contextsOf(json) {
    // Thousands of expressions have the same.
    if (known?.json !== json) known = { json, value: JSON.parse(json, reviver) };
    return known.value;
}

function expression({ text, contexts: json }) {
    try {
        const contexts = contextsOf(json);
        const names = contexts.pairs().map((pair) => pair.key);
        const tree = new Parser(new Lexer(text).lex().tokens, names, []).parse();
        return { value: tree === undefined ? null : plain(new Evaluator(tree, contexts).evaluate()) };
    } catch (error) {
        return { refused: classOf(error), why: error.message };
    }
}

const bodies = ["run", "uses", "wait", "wait-all", "cancel", "parallel"];

// A token as plain data, with what an expression makes as `null`: it is not known here.
function written(token) {
    if (typeof token !== "object" || token === null) return token ?? null;
    if (token.seq) return token.seq.map(written);
    if (token.map) return Object.fromEntries(token.map.map(({ Key, Value }) => [Key, written(Value)]));
    return null;
}

async function file({ text }) {
    const trace = new NoOperationTraceWriter();
    const context = new TemplateContext(new TemplateValidationErrors(), getWorkflowSchema(), trace);
    // Steps in the background are behind a flag yet.
    const featureFlags = new FeatureFlags({ all: true });
    context.state.featureFlags = featureFlags;
    const { value } = parseWorkflow({ name: "ci.yml", content: text }, context);
    const made = value && (await convertWorkflowTemplate(context, value, undefined, { featureFlags }));
    const errors = context.errors.getErrors();
    if (errors.length > 0) {
        const told = (error) => ({ line: error.range?.start.line ?? 0, why: error.rawMessage });
        return { errors: errors.map(told) };
    }
    const jobs = made.jobs.map((job) => ({
        id: job.id.value,
        needs: (job.needs ?? []).map((need) => need.value),
        called: job.type === "reusableWorkflowJob",
        steps: (job.steps ?? []).map((step) => bodies.find((body) => body in step)),
        strategy: written(JSON.parse(JSON.stringify(job.strategy ?? null))),
    }));
    return { jobs, events: Object.keys(made.events ?? {}) };
}

for (const line of readFileSync(0, "utf8").split("\n")) {
    if (line === "") continue;
    const request = JSON.parse(line);
    const answer = request.file === undefined ? expression(request.expression) : await file(request.file);
    process.stdout.write(`${JSON.stringify(answer)}\n`);
}
