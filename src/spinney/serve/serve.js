
// The page of a server: asks a model what it makes of the text, and shows the answer to the last question asked.
const ask = document.getElementById("ask");
if (ask) {
  const model = document.getElementById("model"), text = document.getElementById("text");
  const status = document.getElementById("status"), result = document.getElementById("result");
  const hint = document.getElementById("hint");
  let asked = 0;
  const say = (words, wrong = false) => {
    status.textContent = words;
    status.classList.toggle("wrong", wrong);
  };
  const show = async () => {
    const number = ++asked, begun = performance.now();
    if (!text.value.trim()) {
      result.replaceChildren();
      say("Type some text first.", true);
      return;
    }
    result.classList.add("old");
    say("Asking " + model.value + " \u2026");
    let answer, body;
    try {
      answer = await fetch("/models/" + encodeURIComponent(model.value) + "/view", {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ text: text.value }),
      });
      body = await answer.text();
    } catch {
      if (number === asked) say("The server does not answer.", true);
      return;
    }
    if (number !== asked) return;  // another question has been asked since
    result.classList.remove("old");
    if (!answer.ok) {
      result.replaceChildren();
      let told = "The server refused this (" + answer.status + ").";
      try { told = JSON.parse(body).error || told; } catch { /* not from the application */ }
      say(told, true);
      return;
    }
    result.innerHTML = body;  // markup of the server: text in it is escaped, and no script runs by the page's policy
    enliven(result);
    const spent = Math.round(performance.now() - begun) + " ms";
    say(result.textContent.trim() ? "Answer of " + model.value + ", after " + spent + "." : "There is nothing to show.");
  };
  const change = () => { hint.textContent = model.selectedOptions[0].dataset.hint; };
  ask.addEventListener("submit", event => { event.preventDefault(); show(); });
  text.addEventListener("keydown", event => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); show(); }
  });
  model.addEventListener("change", () => { change(); if (text.value.trim()) show(); });
  change();
  text.focus();
}
