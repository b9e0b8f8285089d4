//! A headless Chromium driven over its debugging pipe: commands in, answers and events out, as JSON that ends in a zero byte.
//!
//! No port is opened and no other crate is needed; the browser ends with the pipe.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use mayhap_testkit::needs;
use serde_json::{Value, json};

/// A command that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// One browser at a time: two would compete for few cores, and times are measured here.
static TURN: Mutex<()> = Mutex::new(());

pub(crate) struct Browser {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    next: u64,
    session: Option<String>,
    /// Events that came while a command was waited for.
    pub(crate) events: Vec<Value>,
    // Dropped last: removing the folder while the browser still writes into it would fail, and the turn ends after both.
    _folder: tempfile::TempDir,
    _turn: MutexGuard<'static, ()>,
}

/// The browser's command, if the machine has one; `MAYHAP_CHROMIUM` names another.
fn command() -> Option<&'static String> {
    static FOUND: OnceLock<Option<String>> = OnceLock::new();
    let works = |name: &String| {
        let run = Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        run.is_ok_and(|status| status.success())
    };
    FOUND
        .get_or_init(|| {
            let named = std::env::var("MAYHAP_CHROMIUM").ok();
            let usual = ["chromium", "chromium-browser", "google-chrome"].map(String::from);
            named.into_iter().chain(usual).find(works)
        })
        .as_ref()
}

impl Browser {
    /// A new browser with a page of the given width and height; `None`, with a line that says so, where there is none.
    pub(crate) fn start(width: u32, height: u32) -> Option<Browser> {
        let Some(command) = command() else {
            needs::missing("there is no Chromium, so the HTML page is not tested (install the package chromium)");
            return None;
        };
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().unwrap();
        // The pipe is file descriptors 3 and 4 of the browser.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", "sh", command])
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--mute-audio"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--remote-debugging-pipe", "--hide-scrollbars", "--force-color-profile=srgb"])
            .arg(format!("--user-data-dir={}", folder.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, messages) = channel();
        let output = child.stdout.take().unwrap();
        std::thread::spawn(move || {
            for message in BufReader::new(output).split(0) {
                let Ok(value) = message.map(|m| serde_json::from_slice(&m).unwrap_or(Value::Null)) else { return };
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take().unwrap();
        let mut browser = Browser {
            child,
            input,
            messages,
            next: 1,
            session: None,
            events: Vec::new(),
            _folder: folder,
            _turn: turn,
        };
        let target = browser.send("Target.createTarget", json!({"url": "about:blank"}));
        let target = target["targetId"].as_str().unwrap().to_string();
        let attached = browser.send("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        browser.session = attached["sessionId"].as_str().map(str::to_string);
        for domain in ["Page", "Runtime", "Log", "Network", "Performance"] {
            browser.send(&format!("{domain}.enable"), json!({}));
        }
        // The Audits domain reports violations of the policy too, but the page itself gets an event for each.
        let listen = "window.violations = []; \
            document.addEventListener('securitypolicyviolation', (e) => violations.push(e.violatedDirective + ' ' + e.blockedURI));";
        browser.send("Page.addScriptToEvaluateOnNewDocument", json!({"source": listen}));
        browser.resize(width, height);
        Some(browser)
    }

    pub(crate) fn resize(&mut self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.send("Emulation.setDeviceMetricsOverride", size);
    }

    /// Sends a command and returns its result.
    pub(crate) fn send(&mut self, method: &str, params: Value) -> Value {
        let id = self.next;
        self.next += 1;
        let mut message = json!({"id": id, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = serde_json::to_vec(&message).unwrap();
        bytes.push(0);
        self.input.write_all(&bytes).unwrap();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let answer = self.messages.recv_timeout(left).unwrap_or_else(|e| panic!("{method}: {e}"));
            if answer["id"] == json!(id) {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    /// Opens a file and waits until it is loaded and drawn. Returns how long that took.
    pub(crate) fn open(&mut self, file: &Path) -> Duration {
        let start = Instant::now();
        // Leaving the page that is open makes sure that a new address with the same file is loaded again.
        self.send("Page.navigate", json!({"url": "about:blank"}));
        self.send("Page.navigate", json!({"url": format!("file://{}", file.display())}));
        self.until("document.readyState === 'complete' && document.querySelector('#main > *') !== null");
        self.settle();
        start.elapsed()
    }

    /// The value of an expression in the page; a promise is waited for.
    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        let params =
            json!({"expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true});
        let answer = self.send("Runtime.evaluate", params);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    pub(crate) fn text(&mut self, selector: &str) -> String {
        let found = self.eval(&format!("document.querySelector({})?.textContent", json!(selector)));
        found.as_str().unwrap_or_else(|| panic!("nothing is {selector}")).to_string()
    }

    pub(crate) fn count(&mut self, selector: &str) -> u64 {
        self.eval(&format!("document.querySelectorAll({}).length", json!(selector))).as_u64().unwrap()
    }

    /// Waits until an expression is true.
    pub(crate) fn until(&mut self, expression: &str) {
        let deadline = Instant::now() + PATIENCE;
        while self.eval(expression) != json!(true) {
            assert!(Instant::now() < deadline, "never came true: {expression}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until two frames have been drawn and every transition that they began is over.
    pub(crate) fn settle(&mut self) {
        self.eval(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done()))) \
             .then(() => Promise.allSettled(document.getAnimations().map((one) => one.finished))).then(() => true)",
        );
    }

    /// Clicks the middle of an element with the mouse.
    pub(crate) fn click(&mut self, selector: &str) {
        let middle = format!(
            "(() => {{ const e = document.querySelector({}); e.scrollIntoView({{block: 'center'}}); \
             const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; }})()",
            json!(selector)
        );
        let at = self.eval(&middle);
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({"type": kind, "x": at[0], "y": at[1], "button": "left", "clickCount": 1});
            self.send("Input.dispatchMouseEvent", event);
        }
        self.settle();
    }

    pub(crate) fn hover(&mut self, x: f64, y: f64) {
        self.send("Input.dispatchMouseEvent", json!({"type": "mouseMoved", "x": x, "y": y}));
        self.settle();
    }

    /// Presses a key: a character, or a name such as `ArrowDown`.
    pub(crate) fn key(&mut self, key: &str) {
        let code = match key {
            "Enter" => 13,
            "Tab" => 9,
            "Escape" => 27,
            "ArrowUp" => 38,
            "ArrowDown" => 40,
            "End" => 35,
            "Home" => 36,
            _ => 0,
        };
        let mut down = json!({"type": "keyDown", "key": key, "windowsVirtualKeyCode": code});
        if key.chars().count() == 1 {
            down["text"] = json!(key);
        }
        self.send("Input.dispatchKeyEvent", down);
        self.send("Input.dispatchKeyEvent", json!({"type": "keyUp", "key": key, "windowsVirtualKeyCode": code}));
        self.settle();
    }

    pub(crate) fn type_text(&mut self, text: &str) {
        self.send("Input.insertText", json!({"text": text}));
        self.settle();
    }

    /// What the page may see of the machine: media type and features.
    pub(crate) fn media(&mut self, media: &str, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.send("Emulation.setEmulatedMedia", json!({"media": media, "features": features}));
        self.settle();
    }

    /// Bytes of memory that the page's process takes, after a collection.
    pub(crate) fn memory(&mut self) -> u64 {
        self.send("HeapProfiler.collectGarbage", json!({}));
        let session = self.session.take();
        let processes = self.send("SystemInfo.getProcessInfo", json!({}));
        self.session = session;
        let resident = |process: &Value| {
            let status = std::fs::read_to_string(format!("/proc/{}/status", process["id"])).ok()?;
            let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok()
        };
        let renderers = processes["processInfo"].as_array().unwrap().iter().filter(|p| p["type"] == "renderer");
        renderers.filter_map(resident).max().unwrap_or(0) * 1024
    }

    /// Saves what is in sight as a PNG file.
    pub(crate) fn screenshot(&mut self, file: &Path) {
        use base64::Engine;
        let shot = self.send("Page.captureScreenshot", json!({"format": "png"}));
        let bytes = base64::engine::general_purpose::STANDARD.decode(shot["data"].as_str().unwrap()).unwrap();
        std::fs::write(file, bytes).unwrap();
    }

    /// What must never happen, whatever names are in the report: a script or request that the page did not bring along, an
    /// error in its own, a dialog.
    pub(crate) fn assert_clean(&mut self) {
        assert_eq!(self.eval("window.violations"), json!([]), "violations of the policy");
        assert_eq!(self.eval("window.ran ?? 'nothing'"), json!("nothing"), "a name ran as script");
        for event in &self.events {
            let method = event["method"].as_str().unwrap_or("");
            match method {
                "Network.requestWillBeSent" => {
                    let url = event["params"]["request"]["url"].as_str().unwrap_or("");
                    let ours = ["file://", "about:blank", "data:,"].iter().any(|start| url.starts_with(start));
                    assert!(ours, "a request to {url}");
                }
                "Runtime.exceptionThrown" => panic!("an error in the page: {}", event["params"]["exceptionDetails"]),
                "Page.javascriptDialogOpening" => panic!("a dialog: {}", event["params"]),
                "Log.entryAdded" => panic!("the browser complains: {}", event["params"]["entry"]),
                _ => {}
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Only the process that was started here; its own children end with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
