//! Every tool, in the order in which clients see them: one file for each domain.

mod action;
mod admin;
mod agents;
mod artifacts;
mod audit;
mod bisect;
mod build;
mod code;
mod deliveries;
mod excerpt;
mod files;
mod git;
mod git_list;
mod grep;
mod held_worktree;
mod list;
mod log;
mod machine;
mod ops;
mod pipeline_run;
mod pipelines;
mod read_file;
mod runs;
mod salvage;
mod test_history;
mod tokens;
mod verbs;
mod workspace;

use super::tool::Tool;

pub(super) fn all() -> Vec<Tool> {
    [
        list::tools(),
        files::tools(),
        vec![read_file::tool()],
        grep::tools(),
        build::tools(),
        code::tools(),
        runs::tools(),
        log::tools(),
        vec![pipelines::tool()],
        pipeline_run::tools(),
        vec![bisect::tool()],
        vec![artifacts::tool()],
        vec![held_worktree::tool()],
        git::tools(),
        verbs::tools(),
        vec![git_list::tool()],
        agents::tools(),
        workspace::tools(),
        salvage::tools(),
        ops::tools(),
        vec![deliveries::tool()],
        vec![machine::tool()],
        admin::tools(),
        tokens::tools(),
        audit::tools(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::mcp::headers::ROLE;
    use crate::mcp::scope::ToolScope;
    use crate::mcp::settings::Settings;
    use branchyard_auth::{Grant, Principal};
    use branchyard_config::{AuthConfig, McpConfig, Toolset};
    use branchyard_reference::{Table, check, heading};

    /// What a caller with every right is offered, in a role or by default.
    fn scope(role: Option<&str>) -> ToolScope {
        let mut headers = axum::http::HeaderMap::new();
        if let Some(role) = role {
            headers.insert(ROLE, role.parse().unwrap());
        }
        ToolScope::read(
            &Settings::read(&headers, &Default::default()).unwrap(),
            (&McpConfig::default(), &AuthConfig::default()),
            &[],
            &Principal::new("asker", Grant::everything()),
        )
        .unwrap()
    }

    #[test]
    fn reference_page_of_tools() {
        let mut page = heading("MCP tools");
        page.push_str("What agents are offered, by set. [MCP.md](../MCP.md) says how to connect one. Fields with a star are required.\n");
        let tools = all();
        for set in Toolset::ALL {
            let in_set = |tool: &&Tool| tool.declared().set == set;
            for (number, tool) in tools.iter().filter(in_set).enumerate() {
                if number == 0 {
                    page.push_str(&format!("\n## {}\n", set.as_str()));
                }
                page.push_str(&section(tool));
            }
        }
        check("docs/reference/tools.md", &page);
    }

    fn section(tool: &Tool) -> String {
        let listed = serde_json::to_value(tool.listed(&scope(None))).unwrap();
        let hints = &listed["annotations"];
        let says = [
            ("readOnlyHint", "changes nothing"),
            ("destructiveHint", "may discard something"),
            ("idempotentHint", "can be repeated"),
            ("openWorldHint", "may reach beyond the yard"),
        ];
        let says = says.iter().filter(|(hint, _)| hints[*hint] == true);
        let says: Vec<_> = says.map(|(_, words)| *words).collect();
        let mut text = format!(
            "\n### `{}`\n\n{}\n\nNeeds `{}`; {}.\n",
            tool.name(),
            listed["description"].as_str().unwrap(),
            tool.declared().right.as_str(),
            says.join(", ")
        );
        let schema = &listed["inputSchema"];
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let mut table = Table::new(&["field", "type", "meaning"]);
        let fields = schema["properties"].as_object().unwrap();
        for (name, field) in fields {
            let star = if required.contains(&json!(name)) {
                " \\*"
            } else {
                ""
            };
            let kind = match (&field["enum"], &field["type"]) {
                (serde_json::Value::Array(values), _) => {
                    let values: Vec<_> = values.iter().filter_map(|value| value.as_str()).collect();
                    values.join(", ")
                }
                (_, serde_json::Value::String(kind)) => kind.clone(),
                (_, serde_json::Value::Array(kinds)) => {
                    let kinds: Vec<_> = kinds.iter().filter_map(|kind| kind.as_str()).collect();
                    kinds.join(" or ")
                }
                _ => "any of several".to_owned(),
            };
            let meaning = field["description"].as_str().unwrap_or_default();
            table.row(&[format!("`{name}`{star}"), kind, meaning.to_owned()]);
        }
        if !fields.is_empty() {
            text.push_str(&format!("\n{table}"));
        }
        text
    }

    #[test]
    fn the_default_is_a_short_list_of_short_names_with_everything_said() {
        let scope = scope(None);
        let offered: Vec<_> = all()
            .into_iter()
            .filter(|tool| tool.is_offered(&scope))
            .collect();
        assert!(
            !offered.is_empty() && offered.len() < 20,
            "{}",
            offered.len()
        );
        for tool in all() {
            let listed = serde_json::to_value(tool.listed(&scope)).unwrap();
            let name = tool.name();
            assert!(name.len() <= 24 && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'));
            for hint in [
                "readOnlyHint",
                "destructiveHint",
                "idempotentHint",
                "openWorldHint",
            ] {
                assert!(
                    listed["annotations"][hint].is_boolean(),
                    "{name} lacks {hint}"
                );
            }
            for schema in ["inputSchema", "outputSchema"] {
                assert_eq!(listed[schema]["type"], "object", "{name} {schema}");
                let text = listed[schema].to_string();
                assert!(
                    !text.contains("$ref") && !text.contains("\"uint"),
                    "{name} {text}"
                );
            }
            let fields = listed["inputSchema"]["properties"].as_object().unwrap();
            for (field, schema) in fields {
                let said = schema["description"].as_str().unwrap_or_default();
                let is_told_by_name = ["repo", "branch", "verbosity", "action"].contains(&&**field);
                assert!(
                    !said.is_empty() || is_told_by_name,
                    "{name} does not say what {field} is"
                );
            }
            let said = listed["description"].as_str().unwrap();
            assert!(said.len() > 40 && said.len() < 700, "{name}: {said}");
        }
    }

    /// What an agent pays for before it has asked anything.
    #[test]
    fn a_list_of_tools_is_within_its_price() {
        let count = |text: &str| {
            tiktoken_rs::o200k_base_singleton()
                .encode_ordinary(text)
                .len()
        };
        for (role, most_tokens, most_bytes) in
            [(None, 3_500, 30_000), (Some("dev"), 14_500, 150_000)]
        {
            let scope = scope(role);
            let tools = all();
            let offered = tools.iter().filter(|tool| tool.is_offered(&scope));
            let listed: Vec<_> = offered.map(|tool| tool.listed(&scope)).collect();
            let bytes = serde_json::to_string(&listed).unwrap().len();
            let read: Vec<_> = listed
                .iter()
                .map(|tool| json!([tool.name, tool.description, tool.input_schema]).to_string())
                .collect();
            let tokens: usize = read.iter().map(|text| count(text)).sum();
            assert!(tokens <= most_tokens, "{role:?}: {tokens} tokens");
            assert!(bytes <= most_bytes, "{role:?}: {bytes} bytes");
        }
    }

    #[test]
    fn no_two_tools_share_a_name() {
        let mut names: Vec<_> = all().iter().map(|tool| tool.name().to_owned()).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
