Feature: Sample

  Scenario: Passes
    Given a step that passes

  Scenario: Fails
    Given a step that passes
    When a step fails

  @skip
  Scenario: Is skipped
    Given a step that passes

  Scenario: Has no step
    Given a step without a function
