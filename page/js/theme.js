// A classic script, so that it runs before the first paint. The theme is an attribute of the root
// element; without one the system decides.
(() => {
  const root = document.documentElement;
  const read = () => {
    try {
      return localStorage.getItem("branchyard-theme") ?? "system";
    } catch {
      return "system"; // storage may be forbidden
    }
  };
  const apply = (theme) => {
    if (theme === "system") delete root.dataset.theme;
    else root.dataset.theme = theme;
  };
  apply(read());
  window.branchyardTheme = {
    get: read,
    set(theme) {
      try {
        localStorage.setItem("branchyard-theme", theme);
      } catch { /* then it lasts as long as the page */ }
      apply(theme);
      root.dispatchEvent(new Event("themechange"));
    },
  };
})();
