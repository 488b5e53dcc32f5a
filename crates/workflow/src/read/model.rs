//! A file as it was read. Texts keep their place, and their expressions are not looked at yet.

use super::actions::BuiltIn;
use super::extras::JobExtras;
use crate::event::EventKind;
use crate::yaml::YamlNode;

/// A text, and the byte of the file at which it is written.
#[derive(Debug, Clone)]
pub(crate) struct TextAt {
    pub text: String,
    pub at: usize,
}

#[derive(Debug, Default)]
pub(crate) struct FileModel {
    pub name: Option<TextAt>,
    pub run_name: Option<TextAt>,
    pub triggers: Vec<TriggerModel>,
    pub inputs: Vec<InputModel>,
    /// Of `workflow_call`. They are known by name and have no value: nothing calls a file here.
    pub called_inputs: Vec<String>,
    /// As every `env`: by name, or `ALL_VARIABLES` with the expression that makes all of them.
    pub env: Vec<(TextAt, TextAt)>,
    pub defaults: DefaultsModel,
    pub concurrency: Option<ConcurrencyModel>,
    pub jobs: Vec<JobModel>,
}

#[derive(Debug)]
pub(crate) struct TriggerModel {
    pub kind: EventKind,
    /// With the pattern lists as they are written: none is not the same as an empty one.
    pub branches: Option<Vec<TextAt>>,
    pub branches_ignore: Option<Vec<TextAt>>,
    pub tags: Option<Vec<TextAt>>,
    pub tags_ignore: Option<Vec<TextAt>>,
    pub paths: Option<Vec<TextAt>>,
    pub paths_ignore: Option<Vec<TextAt>>,
    pub types: Option<Vec<TextAt>>,
    pub crons: Vec<(String, Option<String>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputKind {
    Text,
    Flag,
    Number,
    Choice,
}

#[derive(Debug)]
pub(crate) struct InputModel {
    pub name: TextAt,
    pub kind: InputKind,
    pub is_required: bool,
    pub default: Option<String>,
    pub options: Vec<String>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct DefaultsModel {
    pub shell: Option<TextAt>,
    pub working_directory: Option<TextAt>,
}

#[derive(Debug, Clone)]
pub(crate) struct ConcurrencyModel {
    pub group: TextAt,
    pub cancel: Option<TextAt>,
    /// Whether all wait, or only the newest.
    pub is_single: bool,
}

#[derive(Debug)]
pub(crate) enum AxisModel {
    Values(Vec<YamlNode>),
    Expression(TextAt),
}

#[derive(Debug)]
pub(crate) enum MatrixModel {
    Expression(TextAt),
    Axes {
        axes: Vec<(TextAt, AxisModel)>,
        include: Option<AxisModel>,
        exclude: Option<AxisModel>,
    },
}

impl MatrixModel {
    /// All texts in it, each of which may have expressions.
    pub(crate) fn texts(&self) -> Vec<&str> {
        let (axes, include, exclude) = match self {
            Self::Expression(text) => return vec![&text.text],
            Self::Axes {
                axes,
                include,
                exclude,
            } => (axes, include, exclude),
        };
        let mut texts = Vec::new();
        let axes = axes.iter().map(|(_, axis)| axis);
        for axis in axes.chain(include).chain(exclude) {
            match axis {
                AxisModel::Expression(text) => texts.push(text.text.as_str()),
                AxisModel::Values(nodes) => {
                    nodes.iter().for_each(|node| node.add_texts(&mut texts));
                }
            }
        }
        texts
    }
}

#[derive(Debug, Default)]
pub(crate) struct StrategyModel {
    pub matrix: Option<MatrixModel>,
    pub fail_fast: Option<TextAt>,
    pub max_parallel: Option<TextAt>,
}

#[derive(Debug)]
pub(crate) struct JobModel {
    pub id: TextAt,
    pub name: Option<TextAt>,
    pub needs: Vec<TextAt>,
    pub condition: Option<TextAt>,
    pub runs_on: Vec<TextAt>,
    pub env: Vec<(TextAt, TextAt)>,
    pub defaults: DefaultsModel,
    pub strategy: StrategyModel,
    pub timeout: Option<TextAt>,
    pub continue_on_error: Option<TextAt>,
    pub outputs: Vec<(TextAt, TextAt)>,
    pub concurrency: Option<ConcurrencyModel>,
    pub steps: Vec<StepModel>,
    pub extras: JobExtras,
}

#[derive(Debug)]
pub(crate) enum StepBody {
    Run {
        script: TextAt,
        shell: Option<TextAt>,
    },
    Uses(BuiltIn),
    /// A composite action of the same commit, by its directory: empty for the root.
    Local(String),
    /// An action that the operator has steps with skipped.
    Skipped,
    Wait(Vec<TextAt>),
    WaitAll,
    Cancel(TextAt),
}

#[derive(Debug)]
pub(crate) struct StepModel {
    pub at: usize,
    pub id: Option<TextAt>,
    pub name: Option<TextAt>,
    pub condition: Option<TextAt>,
    pub body: StepBody,
    /// As it is written, of a step that uses an action.
    pub uses: Option<TextAt>,
    pub with: Vec<(TextAt, TextAt)>,
    pub env: Vec<(TextAt, TextAt)>,
    pub working_directory: Option<TextAt>,
    pub timeout: Option<TextAt>,
    pub continue_on_error: Option<TextAt>,
    pub is_background: bool,
}

impl StepModel {
    /// What the step gives an input of its action; names of inputs have no case.
    pub(crate) fn given(&self, input: &str) -> Option<&TextAt> {
        let mut given = self.with.iter();
        let found = given.find(|(name, _)| name.text.eq_ignore_ascii_case(input));
        found.map(|(_, value)| value)
    }
}

#[derive(Debug)]
pub(crate) struct ActionInput {
    pub name: TextAt,
    pub is_required: bool,
    pub default: Option<TextAt>,
}

/// What the file of a composite action says.
#[derive(Debug, Default)]
pub(crate) struct ActionModel {
    pub inputs: Vec<ActionInput>,
    pub outputs: Vec<(TextAt, TextAt)>,
    pub steps: Vec<StepModel>,
}
