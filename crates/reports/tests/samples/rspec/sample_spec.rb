RSpec.describe "group" do
  it("passes") { expect(1).to eq(1) }

  it "fails" do
    raise "expected <a> & <b>\n  got: \e[31mred\e[0m übel ✗ 日本"
  end

  it("compares") { expect("<1>").to eq("<2>") }

  it "is pending", skip: "not today & not <now>" do
  end
end
