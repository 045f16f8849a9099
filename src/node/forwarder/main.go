// The CNI plugin `mooring`, as it lies in the CNI directory of a node: hands environment and standard input of a call to
// `mooring node`, over a unix socket, and prints what that answers. It decides nothing and keeps nothing.
//
// It answers by itself only what needs no node: VERSION, a call without CNI_COMMAND, and that `mooring node` does not answer.
// That is an error for DEL too: the runtime would forget a DEL that succeeded, and its address would stay taken, held by no pod. An
// error with code 11 makes the runtime come again.
//
// Neither package net nor fmt: a plugin is started several times for every pod, and half its size is half its start.
package main

import (
	"encoding/json"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	defaultSocket = "/run/mooring/cni.sock"
	// The kubelet gives a runtime two minutes for a pod; one sentence that says why is worth more than its timeout.
	patience = 100 * time.Second
	// A configuration is a page; one with the attachments of a whole node, for GC, some hundred pages.
	stdinBytesMax  = 4 << 20
	answerBytesMax = 4 << 20
)

// Codes of the CNI specification.
const (
	invalidEnvironment   = 4
	inputOutput          = 5
	invalidConfiguration = 7
	tryAgainLater        = 11
	notAvailable         = 50
)

const versions = `{"cniVersion":"1.1.0","supportedVersions":["0.3.1","0.4.0","1.0.0","1.1.0"]}`

type call struct {
	Env   map[string]string `json:"env"`
	Stdin string            `json:"stdin"`
}

type answer struct {
	// Without it this is no answer, and zero would be success.
	Exit   *int   `json:"exit"`
	Stdout string `json:"stdout"`
}

type failure struct {
	CNIVersion string `json:"cniVersion"`
	Code       int    `json:"code"`
	Msg        string `json:"msg"`
	Details    string `json:"details,omitempty"`
}

func main() {
	command := os.Getenv("CNI_COMMAND")
	switch command {
	case "VERSION":
		finish(0, versions)
	case "":
		fail(nil, invalidEnvironment, "CNI_COMMAND is not set", "mooring is a CNI plugin: container runtimes start it")
	}
	// The environment is root's, as the socket is. A network configuration is a tenant's, and names no socket.
	socket := os.Getenv("MOORING_CNI_SOCKET")
	if socket == "" {
		socket = defaultSocket
	}
	time.AfterFunc(patience, func() {
		unanswered(nil, command, "no answer on "+socket+" within "+patience.String())
	})

	stdin, err := readUpTo(os.Stdin, stdinBytesMax)
	if err != nil {
		fail(nil, inputOutput, "the network configuration cannot be read", err.Error())
	}
	if len(stdin) > stdinBytesMax {
		fail(nil, invalidConfiguration, "the network configuration is longer than 4 MiB", "")
	}
	got, err := ask(socket, call{Env: cniVariables(), Stdin: string(stdin)})
	if err != nil {
		unanswered(stdin, command, err.Error())
	}
	finish(*got.Exit, got.Stdout)
}

// Sends the call, says that this was all, and reads the answer to its end.
func ask(socket string, question call) (answer, error) {
	var got answer
	text, err := json.Marshal(question)
	if err != nil {
		return got, err
	}
	connection, err := connect(socket)
	if err != nil {
		return got, &os.PathError{Op: "connect", Path: socket, Err: err}
	}
	if _, err := connection.Write(text); err != nil {
		return got, err
	}
	if err := syscall.Shutdown(int(connection.Fd()), syscall.SHUT_WR); err != nil {
		return got, err
	}
	text, err = readUpTo(connection, answerBytesMax)
	if err != nil {
		return got, err
	}
	if err := json.Unmarshal(text, &got); err != nil || got.Exit == nil {
		return got, &os.PathError{Op: "read", Path: socket, Err: syscall.EBADMSG}
	}
	return got, nil
}

func connect(socket string) (*os.File, error) {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: socket})
		if err == nil {
			return os.NewFile(uintptr(fd), socket), nil
		}
		if err != syscall.EINTR {
			return nil, err
		}
	}
}

func cniVariables() map[string]string {
	found := map[string]string{}
	for _, pair := range os.Environ() {
		if name, value, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "CNI_") {
			found[name] = value
		}
	}
	return found
}

// One byte more than allowed, where there is more.
func readUpTo(from io.Reader, bytesMax int64) ([]byte, error) {
	return io.ReadAll(io.LimitReader(from, bytesMax+1))
}

func unanswered(stdin []byte, command string, why string) {
	code := tryAgainLater
	if command == "STATUS" {
		code = notAvailable
	}
	fail(stdin, code, "mooring node does not answer on this node", why+". Its pod says why: it is of the DaemonSet mooring-node")
}

// `stdin` says in which version of the specification the runtime speaks.
func fail(stdin []byte, code int, msg string, details string) {
	said := failure{CNIVersion: "1.1.0", Code: code, Msg: msg, Details: details}
	var spoken struct {
		CNIVersion string `json:"cniVersion"`
	}
	if json.Unmarshal(stdin, &spoken) == nil && spoken.CNIVersion != "" {
		said.CNIVersion = spoken.CNIVersion
	}
	text, _ := json.Marshal(said)
	finish(1, string(text))
}

var finishing sync.Mutex

// Prints once, also where patience ends while an answer comes.
func finish(exit int, stdout string) {
	finishing.Lock()
	if _, err := os.Stdout.WriteString(stdout); err != nil {
		exit = 1
	}
	os.Exit(exit)
}
